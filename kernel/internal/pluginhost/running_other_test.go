//go:build !linux

package pluginhost

import (
	"strconv"
	"syscall"
)

// running finds nothing: this system does not show other processes' environments.
func running(string) []string { return nil }

func runs(pid string) bool {
	n, err := strconv.Atoi(pid)
	return err == nil && syscall.Kill(n, 0) == nil
}

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

// stopped trusts the signal: this system does not show the state of other processes.
func stopped(string) bool { return true }

//go:build !linux

package pluginhost

import (
	"os/exec"
	"strconv"
	"syscall"
	"testing"

	"github.com/dodo-digital/agent-pipelines/kernel/pluginhost/process"
)

// running finds nothing: this system does not show other processes' environments.
func running(string) []string { return nil }

func runs(pid string) bool {
	n, err := strconv.Atoi(pid)
	return err == nil && syscall.Kill(n, 0) == nil
}

// stopped returns true after the signal: this system does not show the state of other processes.
func stopped(string) bool { return true }

// assertSwept only cleans up: this system cannot search for survivors.
func assertSwept(t *testing.T, _ []process.Survivor, pid string) {
	t.Helper()
	_ = exec.Command("kill", "-9", pid).Run()
}

package store

import (
	"errors"
	"fmt"

	"golang.org/x/sys/unix"
)

// zombie is SZOMB of sys/proc.h.
const zombie = 5

// isRunning reports whether a process has this number. A zombie does not run: its files are closed, and it
// only waits until its parent reaps it.
func isRunning(pid int) bool {
	if err := unix.Kill(pid, 0); err != nil && !errors.Is(err, unix.EPERM) {
		return false
	}
	p, err := unix.SysctlKinfoProc("kern.proc.pid", pid)
	return err != nil || p.Proc.P_stat != zombie
}

// processStart returns the wall clock at the process's start, "<seconds>.<microseconds>".
func processStart(pid int) (string, bool) {
	p, err := unix.SysctlKinfoProc("kern.proc.pid", pid)
	if err != nil {
		return "", false
	}
	return fmt.Sprintf("%d.%06d", p.Proc.P_starttime.Sec, p.Proc.P_starttime.Usec), true
}

//go:build !linux && !darwin

package store

import (
	"errors"

	"golang.org/x/sys/unix"
)

// isRunning reports whether a process has this number.
func isRunning(pid int) bool {
	err := unix.Kill(pid, 0)
	return err == nil || errors.Is(err, unix.EPERM)
}

// processStart reports no start time on this system, so that only process numbers are compared.
func processStart(int) (string, bool) { return "", false }

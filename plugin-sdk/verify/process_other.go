//go:build !linux

package verify

import (
	"errors"
	"syscall"
)

// attributes makes the process a group leader. This system has no parent-death signal.
func attributes(bool) *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

// seesProcesses states that this system does not show the environments of processes.
const seesProcesses = false

func markedPIDs(string) []int { return nil }

func describeMarked(string) []string { return nil }

func readEnviron(int) []string { return nil }

// holdings are the resources of a process.
type holdings struct {
	files, threads int
	memory         int64
}

func holds(int) (holdings, error) { return holdings{}, errors.ErrUnsupported }

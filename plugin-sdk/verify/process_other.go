//go:build !linux

package verify

import (
	"errors"
	"syscall"
)

// attributes make the process the leader of a group. There is no signal at the parent's death here.
func attributes(bool) *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

// seesProcesses says that this system does not tell the environment of processes.
const seesProcesses = false

func markedPIDs(string) []int { return nil }

func marked(string) []string { return nil }

func environOf(int) []string { return nil }

// holdings are what a process holds.
type holdings struct {
	files, threads int
	memory         int64
}

func holds(int) (holdings, error) { return holdings{}, errors.ErrUnsupported }

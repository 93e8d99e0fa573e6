//go:build !linux

package subprocess

import (
	"errors"
	"syscall"
)

// attributes makes the process a group leader. This system has no parent-death signal.
func attributes(bool) *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

// SeesProcesses states that this system does not show the environments of processes.
const SeesProcesses = false

// MarkedPIDs returns nil, because this system does not show the environments of processes.
func MarkedPIDs(string) []int { return nil }

// DescribeMarked returns nil, because this system does not show the environments of processes.
func DescribeMarked(string) []string { return nil }

// ReadEnviron returns nil, because this system does not show the environments of processes.
func ReadEnviron(int) []string { return nil }

// Resources counts the open files, threads and memory of a process.
type Resources struct {
	Files, Threads int
	Memory         int64
}

// ReadResources returns [errors.ErrUnsupported].
func ReadResources(int) (Resources, error) { return Resources{}, errors.ErrUnsupported }

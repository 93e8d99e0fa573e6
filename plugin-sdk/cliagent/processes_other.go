//go:build !linux

package cliagent

import "syscall"

// ownGroup makes a child the leader of its own process group. The child can then be ended with its
// children, and Ctrl-C at the terminal does not reach them.
func ownGroup() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

// begin makes the process with this ID the root.
func (f *family) begin(pid int) { f.root = pid }

// setTag does nothing: this system has no inherited limit that can carry a tag.
func (f *family) setTag() {}

// note does nothing: without /proc only the group can be reached. Agents end their tools on
// SIGTERM, so that only a killed agent can leave tools running.
func (f *family) note() {}

// signal sends sig to the group and returns 1 while the group has members, else 0.
func (f *family) signal(sig syscall.Signal) int {
	if syscall.Kill(-f.root, sig) != nil {
		return 0
	}
	return 1
}

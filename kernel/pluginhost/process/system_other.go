//go:build !linux

package process

import (
	"net"
	"os"
	"syscall"
)

// On these systems no signal reports the death of the kernel. A plugin ends with a killed kernel only if it watches
// its stdin, as the SDK does. Survivors are not searched for, and plugins are executed by path and not through the
// verified file. The owner of a plugin's socket is not checked; its directory is private.

func attributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

func executable(*os.File) *os.File { return nil }

// awaitExit reaps at once: these systems have no portable call that waits without reaping.
func awaitExit(p *os.Process) (reap func() (*os.ProcessState, error)) {
	state, err := p.Wait()
	return func() (*os.ProcessState, error) { return state, err }
}

// AdoptOrphans does nothing on this system.
func AdoptOrphans() (restore func(), err error) { return func() {}, nil }

func peerUID(*net.UnixConn) (uid int, known bool, err error) { return 0, false, nil }

func startTime(int) (uint64, bool) { return 0, false }

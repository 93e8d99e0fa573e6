package process

import (
	"bytes"
	"errors"
	"net"
	"os"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/dodo-digital/agent-pipelines/kernel/store"
)

// attributes returns the settings of a child with a group of its own, which the terminal's Ctrl-C does not reach.
// The child gets SIGTERM when the host dies. The signal is not SIGKILL, because it reaches the leader only: a plugin
// that handles SIGTERM ends its whole group. A stopped plugin is woken by the system, with SIGHUP, when the host's
// death orphans its group.
func attributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGTERM}
}

// executable returns the open file, which is executed even if its path leads to another file. It returns nil for a
// script, because the interpreter opens a script by its path, which also shows the script its own directory.
func executable(binary *os.File) *os.File {
	if binary == nil || isScript(binary) {
		return nil
	}
	return binary
}

func isScript(f *os.File) bool {
	var head [2]byte
	_, err := f.ReadAt(head[:], 0)
	return err == nil && bytes.Equal(head[:], []byte("#!"))
}

// awaitExit returns when the process has ended but is not reaped, so that its number stays reserved; the
// returned function reaps it.
func awaitExit(p *os.Process) (reap func() (*os.ProcessState, error)) {
	for {
		err := unix.Waitid(unix.P_PID, p.Pid, nil, unix.WEXITED|unix.WNOWAIT, nil)
		if !errors.Is(err, unix.EINTR) {
			return p.Wait
		}
	}
}

func peerUID(conn *net.UnixConn) (uid int, known bool, err error) {
	raw, err := conn.SyscallConn()
	if err != nil {
		return 0, false, err
	}
	var cred *unix.Ucred
	var fault error
	err = raw.Control(func(fd uintptr) {
		cred, fault = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED)
	})
	if err := errors.Join(err, fault); err != nil {
		return 0, false, err
	}
	return int(cred.Uid), true, nil
}

// startTime returns field 22 of /proc/<pid>/stat, in clock ticks since boot.
func startTime(pid int) (uint64, bool) {
	fields, ok := store.StatFields(pid)
	if !ok {
		return 0, false
	}
	t, err := strconv.ParseUint(fields[startField], 10, 64)
	return t, err == nil
}

// Indices of fields in [store.StatFields].
const (
	stateField  = 0
	parentField = 1
	groupField  = 2
	startField  = 19
)

package process

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"os"
	"strconv"
	"sync"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/dodo-digital/agent-pipelines/kernel/store"
)

// attributes make the child lead a group of its own, which also keeps the terminal's Ctrl-C away from it, and
// send it SIGTERM when the host dies. The signal is not SIGKILL, because it reaches the leader only: a plugin
// that handles it ends its whole group. A stopped plugin is woken by the system, with SIGHUP, when the host's
// death orphans its group.
func attributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGTERM}
}

// executable returns the open file, which is executed even if its path leads to another one. Scripts are
// started by path, because the interpreter opens them by name and they find their neighbours by it.
func executable(spec Spec) *os.File {
	if spec.Binary == nil || isScript(spec.Binary) {
		return nil
	}
	return spec.Binary
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

// AdoptOrphans makes this process the parent of every descendant whose own parent ends, so that orphans of
// plugins do not move to init while the host lives, and reaps ended ones. The setting belongs to the whole
// process; restore resets it.
func AdoptOrphans() (restore func(), err error) {
	var before int32
	if err := unix.Prctl(unix.PR_GET_CHILD_SUBREAPER, uintptr(unsafe.Pointer(&before)), 0, 0, 0); err != nil {
		return nil, fmt.Errorf("read child subreaper: %w", err)
	}
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return nil, fmt.Errorf("set child subreaper: %w", err)
	}
	stop := make(chan struct{})
	var burying sync.WaitGroup
	burying.Go(func() { reapOrphans(stop) })
	return func() {
		close(stop)
		burying.Wait()
		_ = unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, uintptr(before), 0, 0, 0)
	}, nil
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

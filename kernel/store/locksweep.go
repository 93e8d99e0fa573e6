package store

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"syscall"

	"github.com/dodo-digital/agent-pipelines/kernel/failpoint"
)

// StaleLock is a lock whose process died without releasing it.
type StaleLock struct {
	Session string
	PID     int // of the dead process
}

// LockHolder returns the current holder of a session. held is false without a lock and for the lock of a dead
// process. A process that holds the lock but has written nothing has PID 0.
func LockHolder(p *Project, session string) (holder LockInfo, held bool, err error) {
	if err := CheckSession(session); err != nil {
		return LockInfo{}, false, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), holderWait)
	defer cancel()
	f, err := openLock(ctx, p, session, os.O_RDWR) // NFS locks only files that are open for writing
	if errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.EROFS) {
		f, err = openLock(ctx, p, session, os.O_RDONLY) // another user's project
	}
	if errors.Is(err, fs.ErrNotExist) {
		return LockInfo{}, false, nil
	}
	if err != nil {
		return LockInfo{}, false, err
	}
	defer f.file.Close()
	if !f.isHeld() {
		return LockInfo{}, false, nil
	}
	f.info.Session = session
	return f.info, true, nil
}

// SweepLocks removes the locks of all dead processes and returns them in the order of names. Unreadable locks
// stay, as with the Bash engine; [AcquireLock] replaces them. An error on one lock does not stop the others;
// all errors are joined. Sessions for which alive returns true are skipped; nil skips none.
func SweepLocks(p *Project, alive func(session string) bool) ([]StaleLock, error) {
	entries, err := p.Entries(LocksDir)
	if err != nil {
		return nil, err
	}
	var swept []StaleLock
	var faults []error
	for _, e := range entries {
		session, isLock := strings.CutSuffix(e.Name(), ".lock")
		if !isLock || !e.Type().IsRegular() || alive != nil && alive(session) || CheckSession(session) != nil {
			continue
		}
		pid, err := sweepLock(p, session)
		if err != nil {
			faults = append(faults, fmt.Errorf("sweep lock of session %q: %w", session, err))
		}
		if pid != 0 {
			swept = append(swept, StaleLock{Session: session, PID: pid})
		}
	}
	return swept, errors.Join(faults...)
}

// sweepLock removes one dead lock and returns its PID, else 0. It does not wait, since a lock that is being replaced
// is not dead. It locks only files that name a dead process, since a process that makes a file is about to lock it.
func sweepLock(p *Project, session string) (pid int, err error) {
	if dead, err := isDeadLock(p, session); err != nil || !dead {
		return 0, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), lockPause)
	defer cancel()
	f, err := openLock(ctx, p, session, os.O_RDWR)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, errLockChanging) {
		return 0, nil // released or taken meanwhile
	}
	if err != nil {
		return 0, err
	}
	defer f.file.Close()
	if f.isHeld() || !f.written {
		return 0, nil
	}
	failpoint.Point("lock.sweep.before-remove")
	removed, err := f.remove(p)
	if !removed {
		return 0, err
	}
	return f.info.PID, err
}

// isDeadLock reports whether a lock names a process that is not alive, or this process's number, which an earlier
// process may have had.
func isDeadLock(p *Project, session string) (bool, error) {
	f, err := openLockFile(p, session, os.O_RDONLY)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	defer f.file.Close()
	err = f.read()
	return f.written && (f.info.PID == os.Getpid() || !f.info.isAlive()), err
}

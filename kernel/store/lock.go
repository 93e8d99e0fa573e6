package store

import (
	"context"
	"fmt"
	"os"
	"sync"

	"github.com/dodo-digital/agent-pipelines/kernel/failpoint"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
)

// LockOptions configures [AcquireLock]. The zero value takes a free session.
type LockOptions struct {
	// Force takes the session from its current holder, at most once. The holder is not notified; the journal
	// refuses its writes.
	Force bool
	// Marker is recorded in the lock: the text in the environment of the run's processes, by which survivors of a dead
	// kernel are found. It may be empty.
	Marker string
}

// Lock is the ownership of a session by this process, until [Lock.Release] or the end of the process. It is
// safe for concurrent use.
type Lock struct {
	project *Project
	info    LockInfo
	warning string
	stale   *StaleLock

	mu         sync.Mutex // guards:
	file       *lockFile  // nil after the release
	overridden *os.File   // the overridden lock file, nil if there is none or its holder is gone
}

// AcquireLock takes a session. If a living process holds it, the error is a [failure.Error] of kind lock_contention,
// unless o.Force. It replaces the lock of a dead process, see [Lock.StaleLock]. It waits at most about five seconds
// for a lock file that other processes are replacing.
func AcquireLock(p *Project, session string, o LockOptions) (*Lock, error) {
	if err := CheckSession(session); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), acquireWait)
	defer cancel()
	l := &Lock{project: p, info: ownLockInfo(session, o.Marker)}
	for force := o.Force; ; {
		f, err := openLock(ctx, p, session, os.O_CREATE|os.O_RDWR)
		if err != nil {
			return nil, err
		}
		switch {
		case !f.isHeld():
			err = l.claim(f)
		case force:
			force = false
			err = l.override(f)
		default:
			err = ContentionError(session, f.info)
		}
		if l.file != nil {
			return l, nil
		}
		if l.overridden != f.file {
			_ = f.file.Close()
		}
		if err != nil {
			l.closeOverridden()
			return nil, err
		}
	}
}

// claim writes this process into a locked file and sets l.file. It leaves l.file nil if the Bash engine, which
// checks only the content, removed the file meanwhile.
func (l *Lock) claim(f *lockFile) error {
	before := f.info
	failpoint.Point("lock.acquire.before-write")
	if err := f.write(l.info); err != nil {
		return err
	}
	failpoint.Point("lock.acquire.after-write")
	current, err := f.isCurrent(l.project)
	if err != nil || !current {
		return err
	}
	if before.PID > 0 {
		l.stale = &StaleLock{Session: l.info.Session, PID: before.PID}
	}
	l.file = f
	return nil
}

// override removes a file that another process holds, which ends that process's ownership.
func (l *Lock) override(f *lockFile) error {
	removed, err := f.remove(l.project)
	if removed {
		l.overridden = f.file
		l.warning = fmt.Sprintf("overriding existing lock for session %q (%s)", l.info.Session, f.info.holderText())
	}
	return err
}

// ContentionError returns the refusal of a session that another process holds.
func ContentionError(session string, holder LockInfo) error {
	var err *failure.Error
	switch {
	case holder.PID <= 0:
		err = failure.New(failure.LockContention, "session %q is locked by a process that has not written its PID", session)
	case holder.isLocal() && !holder.isAlive():
		err = failure.New(failure.LockContention, "session %q is locked, but PID %d does not run here: one of its children or another container holds the lock", session, holder.PID)
	default:
		err = failure.New(failure.LockContention, "session '%s' is already running (%s)", session, holder.holderText())
	}
	return err.WithHint("`%s` shows it; `%s` ends it; %s overrides its lock", failure.Next("attach", session), failure.Next("abort", session), failure.Option("force"))
}

// Info returns the content of the lock.
func (l *Lock) Info() LockInfo { return l.info }

// Warning names the holder whose lock was overridden by force, "" if none.
func (l *Lock) Warning() string { return l.warning }

// StaleLock returns the dead process whose lock was replaced, if any. The caller releases the external resources of
// that process, as for the results of [SweepLocks].
func (l *Lock) StaleLock() (StaleLock, bool) {
	if l.stale == nil {
		return StaleLock{}, false
	}
	return *l.stale, true
}

// AwaitPreviousHolder waits until the process whose lock was overridden has released it. That process does so after all
// its work for the session has ended. The method returns at once if no lock was overridden, or a lock of the Bash
// engine, which locks no file. If ctx ends first, the error wraps its cause, and the caller may wait again.
func (l *Lock) AwaitPreviousHolder(ctx context.Context) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.overridden == nil {
		return nil
	}
	if err := Flock(ctx, l.overridden); err != nil {
		return err
	}
	l.closeOverridden()
	return nil
}

// closeOverridden closes an overridden lock file.
func (l *Lock) closeOverridden() {
	if l.overridden != nil {
		_ = l.overridden.Close()
		l.overridden = nil
	}
}

// Release frees the session and removes the file, unless another process has forced the session away. Later
// calls do nothing.
func (l *Lock) Release() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.file == nil {
		return nil
	}
	l.closeOverridden()
	failpoint.Point("lock.release.before-remove")
	_, err := l.file.remove(l.project)
	failpoint.Point("lock.release.after-remove")
	_ = l.file.file.Close()
	l.file = nil
	if err != nil {
		return fmt.Errorf("release session %q: %w", l.info.Session, err)
	}
	return nil
}

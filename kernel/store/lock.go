package store

import (
	"context"
	"fmt"
	"os"
	"sync"

	"github.com/dodo-digital/agent-pipelines/kernel/failpoint"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
)

// LockOptions says how a session is taken. The zero value takes one that is free.
type LockOptions struct {
	// Force takes the session from whoever holds it, from one holder at most. Who loses it is not told;
	// the journal refuses its writes.
	Force bool
	// Marker is recorded in the lock: the text that the run's processes carry in their environment,
	// by which survivors of a dead kernel are found. May be empty.
	Marker string
}

// Lock is a session that this process holds until [Lock.Release], or until it ends. Its methods may
// be called from several goroutines.
type Lock struct {
	project *Project
	info    LockInfo
	warning string
	stale   *StaleLock

	mu         sync.Mutex // guards:
	file       *lockFile  // nil after the release
	overridden *os.File   // the overridden lock, nil if there was none or its holder is gone
}

// AcquireLock takes a session. If a living process holds it, the error is a [failure.Error] of kind
// lock_contention, unless o.Force. A dead process's lock is taken over, see [Lock.Swept]. It waits at
// most about five seconds, for a lock that is changing hands.
func AcquireLock(p *Project, session string, o LockOptions) (*Lock, error) {
	if err := CheckSession(session); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), acquireWait)
	defer cancel()
	l := &Lock{project: p, info: ownLockInfo(session, o.Marker)}
	for force := o.Force; ; {
		g, err := openLock(ctx, p, session, os.O_CREATE|os.O_RDWR)
		if err != nil {
			return nil, err
		}
		switch {
		case !g.isHeld():
			err = l.claim(g)
		case force:
			force = false
			err = l.override(g)
		default:
			err = contentionError(session, g.info)
		}
		if l.file != nil {
			return l, nil
		}
		if l.overridden != g.file {
			_ = g.file.Close()
		}
		if err != nil {
			l.closeOverridden()
			return nil, err
		}
	}
}

// claim writes our name into a file that we have locked. Afterwards l has the grip, unless the Bash
// engine swept the file away in between, which only looks at what is written.
func (l *Lock) claim(g *lockFile) error {
	before := g.info
	failpoint.Point("lock.acquire.before-write")
	if err := g.write(l.info); err != nil {
		return err
	}
	failpoint.Point("lock.acquire.after-write")
	current, err := g.isCurrent(l.project)
	if err != nil || !current {
		return err
	}
	if before.PID > 0 {
		l.stale = &StaleLock{Session: l.info.Session, PID: before.PID}
	}
	l.file = g
	return nil
}

// override removes the file that another process holds, which thereby holds nothing any more.
func (l *Lock) override(g *lockFile) error {
	removed, err := g.remove(l.project)
	if removed {
		l.overridden = g.file
		l.warning = fmt.Sprintf("overriding existing lock for session %q (%s)", l.info.Session, g.info.holderText())
	}
	return err
}

// contentionError refuses a session that somebody holds.
func contentionError(session string, holder LockInfo) error {
	var err *failure.Error
	switch {
	case holder.PID <= 0:
		err = failure.New(failure.LockContention, "session %q is locked by a process that does not give its number", session)
	case holder.isLocal() && !holder.isAlive():
		err = failure.New(failure.LockContention, "session %q is locked though PID %d does not run here: something that it started, or another container, holds the lock", session, holder.PID)
	default:
		err = failure.New(failure.LockContention, "session '%s' is already running (%s)", session, holder.holderText())
	}
	return err.WithHint("`agent-pipelines attach %s` shows it; `agent-pipelines abort %s` ends it; --force takes it over", session, session)
}

// Info is what the lock says about this process.
func (l *Lock) Info() LockInfo { return l.info }

// Warning says whose lock was overridden by force, "" if nobody's.
func (l *Lock) Warning() string { return l.warning }

// StaleLock is the dead process whose lock was taken over, if there was one: what it left behind is to be
// released, as for the results of [Sweep].
func (l *Lock) StaleLock() (StaleLock, bool) {
	if l.stale == nil {
		return StaleLock{}, false
	}
	return *l.stale, true
}

// AwaitPreviousHolder waits until the process whose lock was overridden has let go of it, which it does when
// all that it had started for the session has ended. It returns at once if no lock was overridden, or if
// its holder locks no file, like the Bash engine. The error is ctx's; it may be called again.
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

// closeOverridden lets go of an overridden lock.
func (l *Lock) closeOverridden() {
	if l.overridden != nil {
		_ = l.overridden.Close()
		l.overridden = nil
	}
}

// Release frees the session and removes the file, unless somebody has forced the session away
// meanwhile. Later calls do nothing.
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

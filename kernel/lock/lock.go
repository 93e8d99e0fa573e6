package lock

import (
	"context"
	"fmt"
	"os"
	"sync"

	"github.com/dodo-digital/agent-pipelines/kernel/failpoint"
	"github.com/dodo-digital/agent-pipelines/kernel/filelock"
	"github.com/dodo-digital/agent-pipelines/kernel/store"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
)

// Options says how a session is taken. The zero value takes one that is free.
type Options struct {
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
	project *store.Project
	info    Info
	warning string
	stale   *Swept

	mu     sync.Mutex // guards:
	grip   *grip      // nil after the release
	forced *os.File   // the overridden lock, nil if there was none or its holder is gone
}

// Acquire takes a session. If a living process holds it, the error is a [failure.Error] of kind
// lock_contention, unless o.Force. A dead process's lock is taken over, see [Lock.Swept]. It waits at
// most about five seconds, for a lock that is changing hands.
func Acquire(p *store.Project, session string, o Options) (*Lock, error) {
	if err := store.CheckSession(session); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), persistence)
	defer cancel()
	l := &Lock{project: p, info: own(session, o.Marker)}
	for force := o.Force; ; {
		g, err := seize(ctx, p, session, os.O_CREATE|os.O_RDWR)
		if err != nil {
			return nil, err
		}
		switch {
		case !g.held():
			err = l.take(g)
		case force:
			force = false
			err = l.override(g)
		default:
			err = contention(session, g.info)
		}
		if l.grip != nil {
			return l, nil
		}
		if l.forced != g.file {
			_ = g.file.Close()
		}
		if err != nil {
			l.forget()
			return nil, err
		}
	}
}

// take writes our name into a file that we have locked. Afterwards l has the grip, unless the Bash
// engine swept the file away in between, which only looks at what is written.
func (l *Lock) take(g *grip) error {
	before := g.info
	failpoint.Point("lock.acquire.before-write")
	if err := g.write(l.info); err != nil {
		return err
	}
	failpoint.Point("lock.acquire.after-write")
	current, err := g.current(l.project)
	if err != nil || !current {
		return err
	}
	if before.PID > 0 {
		l.stale = &Swept{Session: l.info.Session, PID: before.PID}
	}
	l.grip = g
	return nil
}

// override removes the file that another process holds, which thereby holds nothing any more.
func (l *Lock) override(g *grip) error {
	removed, err := g.remove(l.project)
	if removed {
		l.forced = g.file
		l.warning = fmt.Sprintf("overriding existing lock for session %q (%s)", l.info.Session, g.info.who())
	}
	return err
}

// contention refuses a session that somebody holds.
func contention(session string, holder Info) error {
	var err *failure.Error
	switch {
	case holder.PID <= 0:
		err = failure.New(failure.LockContention, "session %q is locked by a process that does not give its number", session)
	case holder.here() && !holder.alive():
		err = failure.New(failure.LockContention, "session %q is locked though PID %d does not run here: something that it started, or another container, holds the lock", session, holder.PID)
	default:
		err = failure.New(failure.LockContention, "session '%s' is already running (%s)", session, holder.who())
	}
	return err.WithHint("`agent-pipelines attach %s` shows it; `agent-pipelines abort %s` ends it; --force takes it over", session, session)
}

// Info is what the lock says about this process.
func (l *Lock) Info() Info { return l.info }

// Warning says whose lock was overridden by force, "" if nobody's.
func (l *Lock) Warning() string { return l.warning }

// Swept is the dead process whose lock was taken over, if there was one: what it left behind is to be
// released, as for the results of [Sweep].
func (l *Lock) Swept() (Swept, bool) {
	if l.stale == nil {
		return Swept{}, false
	}
	return *l.stale, true
}

// AwaitOverridden waits until the process whose lock was overridden has let go of it, which it does when
// all that it had started for the session has ended. It returns at once if no lock was overridden, or if
// its holder locks no file, like the Bash engine. The error is ctx's; it may be called again.
func (l *Lock) AwaitOverridden(ctx context.Context) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.forced == nil {
		return nil
	}
	if err := filelock.Acquire(ctx, l.forced); err != nil {
		return err
	}
	l.forget()
	return nil
}

// forget lets go of an overridden lock.
func (l *Lock) forget() {
	if l.forced != nil {
		_ = l.forced.Close()
		l.forced = nil
	}
}

// Release frees the session and removes the file, unless somebody has forced the session away
// meanwhile. Later calls do nothing.
func (l *Lock) Release() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.grip == nil {
		return nil
	}
	l.forget()
	failpoint.Point("lock.release.before-remove")
	_, err := l.grip.remove(l.project)
	failpoint.Point("lock.release.after-remove")
	_ = l.grip.file.Close()
	l.grip = nil
	if err != nil {
		return fmt.Errorf("release session %q: %w", l.info.Session, err)
	}
	return nil
}

package kernel

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/internal/attempt"
	"github.com/dodo-digital/agent-pipelines/kernel/internal/journal"
	"github.com/dodo-digital/agent-pipelines/kernel/internal/lock"
	"github.com/dodo-digital/agent-pipelines/kernel/internal/pluginhost"
	"github.com/dodo-digital/agent-pipelines/kernel/internal/rundir"
	"github.com/dodo-digital/agent-pipelines/kernel/internal/strategy"
	"github.com/dodo-digital/agent-pipelines/kernel/internal/view"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/kernel/schedule"
	"github.com/dodo-digital/agent-pipelines/kernel/state"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
)

// maxPlan bounds plan.json, in bytes.
const maxPlan = 16 << 20

// session is a session that this engine holds: its lock, its files, its plugin processes.
type session struct {
	engine  *Engine
	name    string
	log     hclog.Logger
	dir     *rundir.Dir
	lock    *lock.Lock
	journal *journal.Journal
	host    *pluginhost.Host
	view    *view.Writer

	plan     *plan.Plan
	state    state.State
	started  time.Time
	observe  func(Update)
	closers  []func() error
	warnings Diagnostics
}

// hold takes a session over: stale locks are swept, the lock is taken, the directory and the journal
// are opened, and what a dead kernel left running is ended. The caller closes the session.
func (e *Engine) hold(ctx context.Context, name string, force, create bool) (_ *session, _ journal.Log, err error) {
	s := &session{engine: e, name: name, log: e.log.With("session", name), started: time.Now(), observe: func(Update) {}}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.close())
		}
	}()
	if err := s.acquire(ctx, force, create); err != nil {
		return nil, journal.Log{}, err
	}
	if err := s.sweepSurvivors(ctx); err != nil {
		return nil, journal.Log{}, err
	}
	j, log, err := journal.Open(ctx, s.dir, journal.Options{Logger: e.log})
	if err != nil {
		return nil, log, err
	}
	s.journal = j
	s.closers = append(s.closers, j.Close)
	if _, err := s.dir.SweepTemps(); err != nil {
		return nil, log, err
	}
	s.host, err = e.newHost(s.marker(), s.notice)
	if err != nil {
		return nil, log, err
	}
	s.closers = append(s.closers, s.closeHost)
	return s, log, nil
}

func (s *session) acquire(ctx context.Context, force, create bool) error {
	if err := rundir.CheckSession(s.name); err != nil {
		return err
	}
	open := s.engine.project.Open
	if create {
		open = s.engine.project.Create
	}
	if err := s.sweepLocks(ctx); err != nil {
		return err
	}
	l, err := lock.Acquire(s.engine.project, s.name, force)
	if err != nil {
		return locked(err)
	}
	if w := l.Warning(); w != "" {
		s.log.Warn(w)
	}
	s.lock = l
	s.closers = append(s.closers, l.Release)
	if s.dir, err = open(s.name); err != nil {
		return err
	}
	s.closers = append(s.closers, s.dir.Close)
	return nil
}

func locked(err error) error {
	if failure.KindOf(err) == failure.LockContention {
		return errors.Join(err, ErrLocked)
	}
	return err
}

// close lets everything go, in the opposite order.
func (s *session) close() error {
	var errs []error
	for i := len(s.closers) - 1; i >= 0; i-- {
		errs = append(errs, s.closers[i]())
	}
	s.closers = nil
	return errors.Join(errs...)
}

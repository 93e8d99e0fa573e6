package session

import (
	"context"
	"errors"
	"io/fs"
	"slices"
	"time"

	"github.com/dodo-digital/agent-pipelines/engine/inspect"
	"github.com/dodo-digital/agent-pipelines/engine/internal/environment"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/kernel/pluginhost/process"
	"github.com/dodo-digital/agent-pipelines/kernel/store"
	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
)

// survivorGrace is the time that processes of a dead kernel have to end by themselves.
const survivorGrace = 2 * time.Second

// removeStaleLocks removes the locks of dead kernels, except for sessions that run in this engine or are
// being opened. A lock that cannot be removed is only logged.
func (e *Supervisor) removeStaleLocks() []store.StaleLock {
	swept, err := store.SweepLocks(e.env.Project, e.active.contains)
	if err != nil {
		e.env.Log.Warn("could not remove all stale locks", "error", err)
	}
	for _, l := range swept {
		e.env.Log.Warn("removed stale lock", "session", l.Session, "pid", l.PID)
	}
	return swept
}

// releaseStale lets the strategies of dead kernels' sessions release their external resources.
func (s *session) releaseStale(ctx context.Context) {
	for _, dead := range s.staleLocks {
		if err := s.releaseStrategies(ctx, dead.Session); err != nil {
			s.engine.env.Log.Warn("could not release resources of a dead session", "session", dead.Session, "error", err)
		}
	}
}

func (s *session) releaseStrategies(ctx context.Context, name string) error {
	dir, err := s.engine.env.Project.Open(name)
	if errors.Is(err, ErrNoSession) {
		return nil
	}
	if err != nil {
		return err
	}
	defer dir.Close()
	p, err := inspect.LoadPlan(dir)
	if errors.Is(err, fs.ErrNotExist) {
		p, err = s.engine.loopPlan(ctx, name, dir, s.configs)
	}
	if err != nil || p == nil {
		return err
	}
	done := map[string]bool{plan.TypeFixed: true, plan.TypeChecks: true} // these hold no resources
	var errs []error
	for _, n := range environment.ExpandStages(p, nil) {
		kind := n.Termination.Type()
		if done[kind] {
			continue
		}
		done[kind] = true
		t, err := environment.Components{Host: s.host, Plan: p, Sandboxes: s.engine.env.SandboxSettings(p)}.StrategyFor(ctx, kind, n)
		if r, ok := t.(sdk.Releaser); err == nil && ok {
			err = r.Release(ctx, name)
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// endSurvivors ends processes that dead kernels of this session, or of sessions that shared them, left
// running.
func (s *session) endSurvivors(ctx context.Context, kernels []process.Marker) error {
	runs := []string{s.processMarker(), s.engine.env.ProcessMarker()}
	dead := slices.Clone(kernels)
	for _, k := range kernels {
		dead = append(dead, process.Marker{Run: s.engine.env.ProcessMarker(), PID: k.PID, Start: k.Start})
	}
	survivors, err := s.engine.env.Host.Sweep(ctx, runs, survivorGrace, dead...)
	if err != nil {
		return err
	}
	for _, p := range survivors {
		s.log.Warn("ended a process that an earlier run left behind", "pid", p.PID, "command", p.Command, "ended", p.Ended)
	}
	s.survivors = survivors
	return nil
}

// sweepTemps removes temporary files of dead kernels.
func (s *session) sweepTemps() error {
	_, err := s.dir.SweepTemps()
	return err
}

// removeEmptyDir removes the directory of a session that never began and has no files, so that a refused
// start is not listed as a session. Failures are only logged.
func (s *session) removeEmptyDir() {
	entries, err := s.dir.Entries(".")
	if err != nil {
		return
	}
	for _, e := range entries {
		info, err := e.Info()
		if err != nil || info.Size() > 0 || e.Name() != store.EventsFile && e.Name() != store.EventsLock {
			return
		}
	}
	var errs []error
	for _, e := range entries {
		errs = append(errs, s.dir.Remove(e.Name()))
	}
	if err := errors.Join(append(errs, s.engine.env.Project.Remove(store.RunsDir+"/"+s.name))...); err != nil {
		s.log.Debug("could not remove the directory of a session that never began", "error", err)
	}
}

// RemoveSession removes all files of a session for good. The error wraps [ErrLocked] if a kernel holds the
// session, and [ErrNoSession] if there is none. Processes left by a dead kernel are ended first, and external
// resources of the session's strategies are released where possible.
//
// The project's list of completed loops keeps its entry, as a record of the past.
func (e *Supervisor) RemoveSession(ctx context.Context, name string) error {
	status, err := e.Status(name)
	switch {
	case errors.Is(err, ErrNoSession), errors.Is(err, ErrSessionName):
		return err
	case err == nil && status.Locked:
		return alreadyRunningError(name, status.PID)
	}
	// A damaged session can be removed although its status cannot be read.
	s := &session{engine: e, name: name, log: e.env.Log.With("session", name), started: time.Now(), observe: func(inspect.Update) {}}
	return s.close(s.remove(ctx, err == nil && !status.Status.Final()))
}

// remove locks and removes the session. An unfinished session releases its resources first.
func (s *session) remove(ctx context.Context, unfinished bool) error {
	if s.engine.active.contains(s.name) {
		return runsHereError(s.name)
	}
	if err := s.acquire(false, false); err != nil {
		return err
	}
	if err := s.endSurvivors(ctx, s.previousKernels()); err != nil {
		return err
	}
	var err error
	if s.host, err = s.engine.env.NewHost(s.processMarker(), nil); err != nil {
		return err
	}
	s.closers = append(s.closers, s.closeHost)
	s.releaseStale(ctx)
	if _, dead := s.lock.StaleLock(); unfinished && !dead {
		if err := s.releaseStrategies(ctx, s.name); err != nil {
			s.log.Warn("could not release the session's resources", "error", err)
		}
	}
	return s.engine.env.Project.RemoveSession(s.name)
}

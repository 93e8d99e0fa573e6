package engine

import (
	"context"
	"errors"
	"io/fs"
	"slices"
	"time"

	"github.com/dodo-digital/agent-pipelines/kernel/lock"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/kernel/pluginhost/process"
	"github.com/dodo-digital/agent-pipelines/kernel/store"
	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
)

// survivorGrace is how long processes of a dead kernel have to end by themselves.
const survivorGrace = 2 * time.Second

// sweepLocks removes the locks of kernels that died, but for those of sessions that run here, or are just taken over. A lock
// that resists is somebody else's trouble.
func (e *Engine) sweepLocks() []lock.Swept {
	swept, err := lock.Sweep(e.project, e.runs)
	if err != nil {
		e.log.Warn("stale locks not all removed", "error", err)
	}
	for _, l := range swept {
		e.log.Warn("removed stale lock", "session", l.Session, "pid", l.PID)
	}
	return swept
}

// release lets the strategies of sessions whose kernels died give back what they hold outside.
func (s *session) release(ctx context.Context) {
	for _, dead := range s.swept {
		if err := s.releaseFor(ctx, dead.Session); err != nil {
			s.engine.log.Warn("what a dead session held was not given back", "session", dead.Session, "error", err)
		}
	}
}

func (s *session) releaseFor(ctx context.Context, name string) error {
	dir, err := s.engine.project.Open(name)
	if errors.Is(err, ErrNoSession) {
		return nil
	}
	if err != nil {
		return err
	}
	defer dir.Close()
	p, err := loadPlan(dir)
	if errors.Is(err, fs.ErrNotExist) {
		p, err = s.engine.planOfLoop(ctx, name, dir, s.configs)
	}
	if err != nil || p == nil {
		return err
	}
	done := map[string]bool{plan.TypeFixed: true, plan.TypeChecks: true} // hold nothing
	var errs []error
	for _, n := range stagesOf(p, nil) {
		kind := n.Termination.Type()
		if done[kind] {
			continue
		}
		done[kind] = true
		t, err := components{host: s.host, plan: p, sandboxes: s.engine.sandboxes(p)}.strategy(ctx, kind, n)
		if r, ok := t.(sdk.Releaser); err == nil && ok {
			err = r.Release(ctx, name)
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// sweep ends what dead kernels of this session left running, and what sessions of dead kernels shared.
func (s *session) sweep(ctx context.Context, kernels []process.Marker) error {
	runs := []string{s.marker(), s.engine.marker()}
	dead := slices.Clone(kernels)
	for _, k := range kernels {
		dead = append(dead, process.Marker{Run: s.engine.marker(), PID: k.PID, Start: k.Start})
	}
	survivors, err := s.engine.host.Sweep(ctx, runs, survivorGrace, dead...)
	if err != nil {
		return err
	}
	for _, p := range survivors {
		s.log.Warn("ended a process that an earlier run left behind", "pid", p.PID, "command", p.Command, "ended", p.Ended)
	}
	s.survivors = survivors
	return nil
}

// sweepTemps removes unfinished files of dead kernels.
func (s *session) sweepTemps() error {
	_, err := s.dir.SweepTemps()
	return err
}

// vacate removes the directory of a session that never began and holds nothing: a start that was
// refused shall not be listed as a session. What cannot be removed stays.
func (s *session) vacate() {
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
	if err := errors.Join(append(errs, s.engine.project.Remove(store.RunsDir+"/"+s.name))...); err != nil {
		s.log.Debug("directory of a session that did not begin stays", "error", err)
	}
}

// RemoveSession removes all files of a session for good. It fails with [ErrLocked] if a kernel holds the
// session, and with [ErrNoSession] if there is none. What a dead kernel left running is ended first, and
// what the session's strategies still hold outside is given back, as far as that can be done.
//
// The project's list of finished loops keeps its entry: it says what happened, not what is there.
func (e *Engine) RemoveSession(ctx context.Context, name string) error {
	status, err := e.Status(name)
	switch {
	case errors.Is(err, ErrNoSession), errors.Is(err, ErrSessionName):
		return err
	case err == nil && status.Held:
		return alreadyRunning(name, status.PID)
	}
	// A status that cannot be read keeps nobody from removing what is damaged.
	s := &session{engine: e, name: name, log: e.log.With("session", name), started: time.Now(), observe: func(Update) {}}
	return s.close(s.remove(ctx, err == nil && !status.Status.Final()))
}

// remove takes the session and removes it. Unfinished ones give back what they hold.
func (s *session) remove(ctx context.Context, unfinished bool) error {
	if s.engine.runs(s.name) {
		return runsHere(s.name)
	}
	if err := s.acquire(false, false); err != nil {
		return err
	}
	if err := s.sweep(ctx, s.pastKernels()); err != nil {
		return err
	}
	var err error
	if s.host, err = s.engine.newHost(s.marker(), nil); err != nil {
		return err
	}
	s.closers = append(s.closers, s.closeHost)
	s.release(ctx)
	if _, dead := s.lock.Swept(); unfinished && !dead {
		if err := s.releaseFor(ctx, s.name); err != nil {
			s.log.Warn("what the session held was not given back", "error", err)
		}
	}
	return s.engine.project.RemoveSession(s.name)
}

package session

import (
	"context"
	"errors"

	"github.com/dodo-digital/agent-pipelines/kernel/store"
)

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
	s := newSession(e, name)
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
		if err := s.engine.releaseStrategies(ctx, s.host, s.configs, s.name); err != nil {
			s.log.Warn("could not release the session's resources", "error", err)
		}
	}
	return s.engine.env.Project.RemoveSession(s.name)
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

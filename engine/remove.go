package engine

import (
	"context"
	"errors"
	"time"
)

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
	if _, dead := s.lock.StaleLock(); unfinished && !dead {
		if err := s.releaseFor(ctx, s.name); err != nil {
			s.log.Warn("what the session held was not given back", "error", err)
		}
	}
	return s.engine.project.RemoveSession(s.name)
}

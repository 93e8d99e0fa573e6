package session

import (
	"context"
	"errors"

	"github.com/dodo-digital/agent-pipelines/kernel/store"
)

// RemoveSession removes all files of a session for good. The error wraps [ErrLocked] if a kernel holds the
// session, and [store.ErrNoSession] if there is none. Processes left by a dead kernel are ended first, and external
// resources of the session's strategies are released where possible.
//
// The project's list of completed loops keeps the entry of the session.
func (e *Supervisor) RemoveSession(ctx context.Context, name string) error {
	status, err := e.Status(name)
	if errors.Is(err, store.ErrNoSession) || errors.Is(err, store.ErrSessionName) {
		return err
	}
	if err := e.checkUnlocked(name, false); err != nil {
		return err
	}
	// A damaged session can be removed although its status cannot be read.
	h := newSetup(e, name).handle
	return h.close(h.remove(ctx, err == nil && !status.Status.Final()))
}

// remove locks and removes the session. The resources of an unfinished session are released first.
func (h *handle) remove(ctx context.Context, unfinished bool) error {
	if err := h.acquire(false, false); err != nil {
		return err
	}
	if err := h.endSurvivors(ctx, h.previousKernels()); err != nil {
		return err
	}
	if err := h.startHost(nil); err != nil {
		return err
	}
	h.releaseStale(ctx)
	if _, dead := h.lock.StaleLock(); unfinished && !dead {
		if err := h.engine.releaseStrategies(ctx, h.host, h.name); err != nil {
			h.log.Warn("could not release the session's resources", "error", err)
		}
	}
	return h.engine.env.Project.RemoveSession(h.name)
}

package session

import (
	"context"
	"errors"

	"github.com/dodo-digital/agent-pipelines/engine/internal/snapshot"
	"github.com/dodo-digital/agent-pipelines/engine/internal/verification"
	"github.com/dodo-digital/agent-pipelines/kernel/pluginhost/catalog"
	"github.com/dodo-digital/agent-pipelines/kernel/store"
)

// RemoveSession removes all files of a session for good, with its snapshots of the project. The error wraps [ErrLocked]
// if a kernel holds the session, and [store.ErrNoSession] if there is none. Processes left by a dead kernel are ended
// first, and external resources of the session's strategies are released where possible.
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
	l := newLease(e, name)
	return l.close(l.remove(ctx, err == nil && !status.Status.Final()))
}

// remove locks and removes the session. The resources of an unfinished session are released first.
func (l *lease) remove(ctx context.Context, unfinished bool) error {
	if err := l.acquire(false, false); err != nil {
		return err
	}
	if err := l.endSurvivors(ctx, l.handle.previousKernels()); err != nil {
		return err
	}
	if err := l.startHost(nil); err != nil {
		return err
	}
	l.releaseStale(ctx)
	if _, dead := l.lock.StaleLock(); unfinished && !dead {
		if err := l.engine.releaseStrategies(ctx, l.host, l.handle.name); err != nil {
			l.handle.log.Warn("could not release the session's resources", "error", err)
		}
	}
	dir, err := catalog.StateDir()
	if err == nil {
		err = snapshot.Remove(ctx, dir, l.handle.env.Project.Path(), l.handle.name)
	}
	if err != nil {
		l.handle.log.Warn("could not remove the session's snapshots of the project", "error", err)
	}
	if heads, err := verification.Open(l.handle.dir); err == nil {
		defer func() { _ = heads.Remove() }() // after the journal
	}
	return l.handle.env.Project.RemoveSession(l.handle.name)
}

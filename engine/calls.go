package engine

import (
	"context"

	"github.com/dodo-digital/agent-pipelines/engine/internal/source"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/kernel/state"
)

// Run starts a session and runs it until it ends or pauses. It refuses a session that can be resumed ([ErrResumable])
// or has ended ([ErrTerminal]), unless Force restarts it in the same directory.
//
// A run that fails, pauses or is aborted is a Result; an error means that the run could not start, or that
// the journal can no longer be written. Cancelling ctx stops at once and leaves the session paused and
// resumable; [Engine.Stop] lets the iteration finish.
func (e *Engine) Run(ctx context.Context, o RunOptions) (*Result, error) {
	return e.sessions.Run(ctx, o, e.snapshot())
}

// Resume continues a session that is paused, failed or crashed, with its original plan. The error wraps
// [ErrNothingToResume] or [ErrTerminal] if the session cannot continue.
func (e *Engine) Resume(ctx context.Context, o ResumeOptions) (*Result, error) {
	return e.sessions.Resume(ctx, o, e.snapshot())
}

// Stop asks a session running in this engine to pause after the current iteration; for a pause of kind signal
// the iteration has 30 seconds. Other sessions are not affected.
func (e *Engine) Stop(session string, kind state.PauseKind, reason string) {
	e.sessions.Stop(session, kind, reason)
}

// Preflight checks whether [Engine.Run] would begin with these options, and fails as Run would. Reasons are faults
// of files, missing or misconfigured providers, and a running or existing session. Preflight writes nothing. Run
// checks again.
func (e *Engine) Preflight(ctx context.Context, o RunOptions) (*PreflightResult, error) {
	return e.sessions.Preflight(ctx, o)
}

// PreflightResume checks whether [Engine.Resume] would continue with these options, and fails as Resume would. It
// writes nothing.
func (e *Engine) PreflightResume(ctx context.Context, o ResumeOptions) (*PreflightResult, error) {
	return e.sessions.PreflightResume(ctx, o)
}

// Repair recovers a session's state from its readable files and begins a new journal with that state. It keeps the old
// journal in the same directory, and runs nothing. An undamaged session is changed only if At is set.
//
// The error wraps [ErrLocked] while a kernel holds the session, and [ErrNoSession] if the session does not exist. It
// is of kind state_corrupt if neither the files nor At give a place to continue.
func (e *Engine) Repair(ctx context.Context, o RepairOptions) (*Repair, error) {
	return e.sessions.Repair(ctx, o)
}

// Verify checks whether a session's journal was changed. If accept is set, it accepts all present lines as they are, so
// that the session can be resumed. The error wraps [ErrLocked] if accept is set and a kernel holds
// the session, and [ErrNoSession] if it does not exist.
func (e *Engine) Verify(ctx context.Context, name string, accept bool) (*Verification, error) {
	return e.sessions.Verify(ctx, name, accept)
}

// RemoveSession removes all files of a session for good. The error wraps [ErrLocked] if a kernel holds the
// session, and [ErrNoSession] if it does not exist. Processes left by a dead kernel are ended first, and external
// resources of the session's strategies are released where possible.
//
// The project's list of completed loops (.claude/loop-completions.json) keeps the session's entry.
func (e *Engine) RemoveSession(ctx context.Context, name string) error {
	return e.sessions.RemoveSession(ctx, name)
}

// Answer answers a question of a session. A kernel that holds the session applies the answer; otherwise this process
// journals it for [Engine.Resume]. A rejection without a text ends the session; the rejection of a tool call only
// denies the call.
//
// The error wraps [ErrNoQuestion] if no such question is open, and [ErrTerminal] if the session has ended.
// It wraps [ErrOptions] if the question does not accept the answer.
func (e *Engine) Answer(ctx context.Context, o AnswerOptions) error {
	return e.messages.Answer(ctx, o)
}

// Feedback adds a text to the agent's next prompt, whatever the stage. A kernel that holds the session journals the
// text, otherwise this process does. The error wraps [ErrTerminal] if the session has ended.
func (e *Engine) Feedback(ctx context.Context, session, text, by string) error {
	return e.messages.Feedback(ctx, session, text, by)
}

// PauseSession asks the kernel that holds a session to pause it after the current iteration. The error wraps
// [ErrTerminal] if the session has ended, and [ErrNothingToResume] if no kernel holds it.
func (e *Engine) PauseSession(ctx context.Context, session, reason, by string) error {
	return e.messages.PauseSession(ctx, session, reason, by)
}

// AbortSession ends a session for good. A kernel that holds it cancels the current iteration; otherwise this process
// journals the end. The error wraps [ErrTerminal] if the session has ended, and [ErrNothingToResume] if the session
// never began.
func (e *Engine) AbortSession(ctx context.Context, session, reason, by string) error {
	return e.messages.AbortSession(ctx, session, reason, by)
}

// Compile returns the plan of a run with these options, without running it. Programs can inspect it, store it
// as JSON, or run it several times with [RunOptions].Plan. The error is [Diagnostics] with every fault of the
// files, with file, line and column. A stage's plan runs as a pipeline of one node, not as a loop.
func (e *Engine) Compile(ctx context.Context, o RunOptions) (*plan.Plan, error) {
	src, err := source.New(ctx, e.env, o)
	if err != nil {
		return nil, err
	}
	return src.Plan, nil
}

// Subscribe returns a subscription to all updates of this engine's sessions from now on. The engine never waits for
// the reader: at most buffer updates (at least 1) are queued, further ones are dropped.
//
// A gap is reported at once, by an update that holds only Session and Missed. A reader waiting for a dropped
// event can then ask [Engine.Status] or read the journal with [Engine.Tail]. The caller or the engine closes the
// subscription.
func (e *Engine) Subscribe(buffer int) *Subscription { return e.SubscribeSession("", buffer) }

// SubscribeSession is [Engine.Subscribe] for one session, which need not exist yet; "" means all sessions.
func (e *Engine) SubscribeSession(session string, buffer int) *Subscription {
	return e.subscribers.add(session, max(buffer, 1))
}

package session

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"sync"
	"time"

	"github.com/dodo-digital/agent-pipelines/engine/inspect"
	"github.com/dodo-digital/agent-pipelines/engine/internal/environment"
	"github.com/dodo-digital/agent-pipelines/engine/internal/recovery"
	"github.com/dodo-digital/agent-pipelines/engine/internal/source"
	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/kernel/pluginhost"
	"github.com/dodo-digital/agent-pipelines/kernel/state"
	"github.com/dodo-digital/agent-pipelines/kernel/store"
	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
)

// Supervisor runs the sessions of a project. It is safe for concurrent use with different sessions.
type Supervisor struct {
	inspect.Inspector
	env     *environment.Environment
	publish func(inspect.Update)
	active  activeSessions
}

// NewSupervisor returns the supervisor of an engine's environment. The supervisor calls publish with every update.
func NewSupervisor(env *environment.Environment, publish func(inspect.Update)) *Supervisor {
	return &Supervisor{Inspector: inspect.New(env), env: env, publish: publish}
}

// activeSessions holds the control channels of the sessions that run in this engine. It is safe for concurrent
// use.
type activeSessions struct {
	mu       sync.Mutex // guards:
	channels map[string]chan<- event.Event
}

// send passes a control event to a running session and reports whether the event was accepted.
func (a *activeSessions) send(session string, ev event.Event) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	c, running := a.channels[session]
	if !running {
		return false
	}
	select {
	case c <- ev:
		return true
	default: // the queue is full: the caller posts to the inbox, where nothing is lost
		return false
	}
}

// add registers a running session; the returned function removes it.
func (a *activeSessions) add(session string) (<-chan event.Event, func(), error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if _, running := a.channels[session]; running {
		return nil, nil, runsHereError(session)
	}
	if a.channels == nil {
		a.channels = map[string]chan<- event.Event{}
	}
	c := make(chan event.Event, 16)
	a.channels[session] = c
	return c, sync.OnceFunc(func() { // a second call would remove the next run of the session
		a.mu.Lock()
		defer a.mu.Unlock()
		delete(a.channels, session)
	}), nil
}

// contains reports whether a session runs in this engine.
func (a *activeSessions) contains(session string) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	_, running := a.channels[session]
	return running
}

// Send passes a control event to a session that runs in this engine and reports whether the event was accepted.
func (e *Supervisor) Send(session string, ev event.Event) bool { return e.active.send(session, ev) }

// Stop asks a session that runs in this engine to pause after the current iteration. A pause of kind signal cancels an
// iteration that exceeds the kernel's grace period.
func (e *Supervisor) Stop(session string, kind state.PauseKind, reason string) {
	e.active.send(session, event.New(event.Control, nil, "", event.ControlData{
		ID: NewID(), Action: "pause", Kind: string(kind), Reason: reason,
	}))
}

// checkStartable refuses an existing session, unless force is set. It runs before the lock is acquired, because its
// error says more than that of the lock.
func (e *Supervisor) checkStartable(name string, force bool) error {
	if force {
		return store.CheckSession(name)
	}
	st, err := e.Status(name)
	switch {
	case errors.Is(err, store.ErrNoSession):
		return nil
	case err != nil:
		return err
	case st.Locked:
		return nil // acquiring the lock reports its holder
	case st.Status == "" && st.Damage != "", st.RepairCommand != "":
		return damagedError(name, st.Damage)
	default:
		return existsError(name, st.Status)
	}
}

// checkUnlocked refuses a session that a kernel holds, unless force is set.
func (e *Supervisor) checkUnlocked(name string, force bool) error {
	if force {
		return nil
	}
	if err := store.CheckSession(name); err != nil {
		return err
	}
	holder, held, err := store.LockHolder(e.env.Project, name)
	if err == nil && held {
		return wrapLocked(store.ContentionError(name, holder))
	}
	return nil // acquiring the lock reports a damaged lock
}

// newRunID returns a new run id: PL-<UTC time>-<8 hex> (REQUIREMENTS U057).
func newRunID(now time.Time) string {
	return "PL-" + now.UTC().Format("20060102150405") + "-" + NewID()[:8]
}

// NewID returns 16 random hexadecimal digits.
func NewID() string {
	var b [8]byte
	_, _ = rand.Read(b[:]) // never fails
	return hex.EncodeToString(b[:])
}

// removeStaleLocks removes the locks of dead kernels, except for sessions that run in this engine. A lock that cannot
// be removed is only logged.
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

// releaseStrategies releases the external resources of a session's strategies.
func (e *Supervisor) releaseStrategies(ctx context.Context, host *pluginhost.Host, name string) error {
	dir, err := e.env.Project.Open(name)
	if errors.Is(err, store.ErrNoSession) {
		return nil
	}
	if err != nil {
		return err
	}
	defer dir.Close()
	p, err := inspect.LoadPlan(dir)
	if errors.Is(err, fs.ErrNotExist) {
		p, err = e.loopPlan(ctx, name, dir)
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
		t, err := environment.Components{Host: host, Plan: p, Sandboxes: e.env.SandboxSettings(p)}.Termination(ctx, kind, n)
		if r, ok := t.(sdk.Releaser); err == nil && ok {
			err = r.Release(ctx, name)
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// loopPlan compiles the plan of a loop of the Bash engine, which wrote no plan. It returns nil if the session is not
// such a loop.
func (e *Supervisor) loopPlan(ctx context.Context, name string, dir *store.Dir) (*plan.Plan, error) {
	found, err := recovery.Read(dir)
	if err != nil {
		return nil, err
	}
	loop, ok := found.BashLoop()
	if !ok {
		return nil, nil //nolint:nilnil // no such loop
	}
	src, err := compileLoop(ctx, e.env, name, nil, loop)
	if err != nil {
		return nil, err
	}
	return src.Plan, nil
}

// compileLoop compiles the stage of a loop whose session has no plan, with the settings found in its files.
func compileLoop(ctx context.Context, env *environment.Environment, name string, configs environment.ProviderConfigs, l recovery.Loop) (*source.Source, error) {
	if l.Stage == "" {
		return nil, failure.New(failure.StateCorrupt, "session '%s' does not record its stage", name).
			WithHint("start it again with %s", failure.Option("force"))
	}
	src, err := source.Compile(ctx, env, source.RunOptions{
		Stage: l.Stage, Max: l.Max, Session: name, Provider: l.Provider, Model: l.Model,
	}, configs, true)
	if err != nil {
		return nil, fmt.Errorf("compile the plan of session %q again: %w", name, err)
	}
	if l.Inputs != nil {
		src.Plan.Session.Inputs = l.Inputs
	}
	return src, nil
}

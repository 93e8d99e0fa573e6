package session

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"time"

	"github.com/dodo-digital/agent-pipelines/engine/inspect"
	"github.com/dodo-digital/agent-pipelines/engine/internal/attempt"
	"github.com/dodo-digital/agent-pipelines/engine/internal/attemptdir"
	"github.com/dodo-digital/agent-pipelines/engine/internal/delivery"
	"github.com/dodo-digital/agent-pipelines/engine/internal/effect"
	"github.com/dodo-digital/agent-pipelines/engine/internal/hook"
	"github.com/dodo-digital/agent-pipelines/engine/internal/inputs"
	"github.com/dodo-digital/agent-pipelines/engine/internal/notify"
	"github.com/dodo-digital/agent-pipelines/engine/internal/outcome"
	"github.com/dodo-digital/agent-pipelines/engine/internal/settings"
	"github.com/dodo-digital/agent-pipelines/engine/internal/source"
	"github.com/dodo-digital/agent-pipelines/engine/internal/steps"
	"github.com/dodo-digital/agent-pipelines/engine/internal/termination"
	"github.com/dodo-digital/agent-pipelines/kernel"
	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/kernel/progress"
	"github.com/dodo-digital/agent-pipelines/kernel/schedule"
	"github.com/dodo-digital/agent-pipelines/kernel/state"
	"github.com/dodo-digital/agent-pipelines/kernel/store"
	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
)

// Run starts a session and runs it until it ends or pauses. It refuses a session that can be resumed ([ErrResumable])
// or has ended ([ErrTerminal]), unless Force restarts it in the same directory. The error wraps [ErrLocked] if another
// kernel holds the session.
//
// A run that fails, pauses or is aborted is a Result; an error means that the run could not start, or that
// the journal can no longer be written. Cancelling ctx stops at once and leaves the session paused and
// resumable; [Supervisor.Stop] lets the iteration finish.
func (e *Supervisor) Run(ctx context.Context, o source.RunOptions, hooks Hooks) (*inspect.Result, error) {
	src, err := source.Start(ctx, e.env, o)
	if err != nil {
		return nil, err
	}
	if err := e.checkStartable(src.Session, o.Force); err != nil {
		return nil, err
	}
	s, err := e.openExclusive(ctx, src.Session, o.Force, true)
	if err != nil {
		return nil, err
	}
	r := newRun(s, hooks, o.Wait, o.Notes, o.Observe)
	return r.drive(ctx, func(ctx context.Context) error {
		err := r.begin(ctx, src, o.Force)
		if err != nil && s.replay.log.Count == 0 {
			s.handle.removeEmptyDir()
		}
		return err
	})
}

// Resume continues a session that is paused, failed or crashed, with its original plan. The error wraps
// [ErrNothingToResume] or [ErrTerminal] if it cannot continue, and [ErrLocked] if another kernel holds the session.
func (e *Supervisor) Resume(ctx context.Context, o ResumeOptions, hooks Hooks) (*inspect.Result, error) {
	if err := store.CheckSession(o.Session); err != nil {
		return nil, err
	}
	configs, warnings, err := e.env.Settings.Assign(ctx, e.env.Host)
	if err != nil {
		return nil, err
	}
	s, err := e.openExclusive(ctx, o.Session, o.Force, false)
	if err != nil {
		return nil, err
	}
	s.setup.configs, s.setup.warnings, s.setup.sandbox = configs, warnings, o.Sandbox
	r := newRun(s, hooks, o.Wait, o.Notes, o.Observe)
	return r.drive(ctx, func(ctx context.Context) error { return r.resume(ctx, o) })
}

// run is one run of a session, from a start or resume until it ends or pauses.
type run struct {
	session        *session
	control        *control
	notifier       *notify.Notifier
	hooks          Hooks
	waits          bool // questions can be answered while the run waits
	possiblyFenced bool // the previous kernel may still be running
}

func newRun(s *session, hooks Hooks, waits bool, notes []event.Event, observe func(inspect.Update)) *run {
	r := &run{session: s, control: &control{session: s}, hooks: hooks, waits: waits}
	for _, note := range notes {
		note.Volatile = true
		s.feed.deferInfo(note)
	}
	if observe != nil {
		s.feed.observe = observe
	}
	s.applied = func(e event.Event, st state.State) {
		r.control.publish(st)
		r.notifier.Observe(s.setup.plan, e, st)
	}
	return r
}

// begin writes the session's files and its first events.
func (r *run) begin(ctx context.Context, src *source.Source, force bool) error {
	s := r.session
	if err := s.setup.setPlan(src.Plan); err != nil {
		return err
	}
	src.Plan = s.setup.redactPlan(src.Plan)
	s.setup.plan, s.setup.configs, s.setup.warnings = src.Plan, src.Configs, s.handle.env.RedactDiagnostics(src.Warnings)
	if err := s.handle.replayAgain(s.replay, s.setup.plan); err != nil {
		return err
	}
	var err error
	if s.state, err = s.replay.state(s.handle.name); err == nil && !force {
		if err := existsError(s.handle.name, s.state.Status); err != nil {
			return err
		}
	}
	providers, err := s.setup.blockProviders(ctx)
	if err != nil {
		return err
	}
	if err := s.setup.preflight(ctx); err != nil {
		return err
	}
	digest, err := s.setup.writePlan(src)
	if err != nil {
		return err
	}
	now := time.Now()
	runID := newRunID(now)
	input, nodeArtifacts, err := src.Input.Store(s.handle.dir, s.setup.plan, s.setup.redactor, runID, now)
	if err != nil {
		return err
	}
	if s.setup.plan.Delivers() {
		if err := delivery.RecordStart(ctx, s.handle.env.Project.Path(), s.handle.name, runID); err != nil {
			return err
		}
	}
	d := event.SessionStartData{
		Mode: src.Mode, JournalVersion: event.JournalVersion, SchedulerVersion: progress.Version, Flow: flowData(src.Plan),
		PlanSHA256: digest, SkipDelays: s.handle.env.Config.SkipDelays, Providers: providers,
		Runs: src.Runs, Input: input, SuppliedArtifacts: nodeArtifacts,
	}
	if src.Mode == "loop" {
		d.Stage, d.StageName = s.setup.plan.Nodes[0].ID, s.setup.plan.Pipeline.Name
	} else {
		d.Pipeline, d.PipelineFile = s.setup.plan.Pipeline.Name, src.File
	}
	s.feed.sendWarnings()
	events, err := s.lease.journal.Begin(ctx, runID, d, r.kernelStart(ctx))
	if err != nil {
		return err
	}
	if err := s.apply(events); err != nil { // session_start resets the state, except for fields that outlive a run
		return err
	}
	return r.awaitFencedOwner(ctx)
}

// resume replays the journal and continues the session.
func (r *run) resume(ctx context.Context, o ResumeOptions) error {
	s := r.session
	st, recovered, err := s.setup.recoverState(ctx, s.replay)
	if err != nil {
		return err
	}
	s.state = st
	switch {
	case !canContinue(s.state, o) && recovered != nil: // the journal is incomplete, so no derived file is written
		return finalError(s.state, o)
	case !canContinue(s.state, o):
		return s.refuseEnded(o)
	}
	if err := s.setup.checkResumable(ctx, s.state, recovered, o); err != nil {
		return err
	}
	used := schedule.RunGuardrailFailure(s.setup.plan, s.state)
	s.feed.sendWarnings()
	if err := s.beginEpoch(ctx, recovered, r.kernelStart(ctx)); err != nil {
		return err
	}
	if !canContinue(s.state, o) { // the previous kernel ended the session meanwhile
		return s.refuseEnded(o)
	}
	if err := errors.Join(s.applyMessages(ctx), s.applyResolutions(ctx)); err != nil { // before session_resumed, which answers open questions by default
		return err
	}
	text, control := r.callResumeHooks(ctx, o.Context)
	if err := s.commit(ctx, event.New(event.SessionResumed, nil, "", event.SessionResumedData{
		By: o.By, Context: text, Renew: used != nil, SkipFailedStep: o.SkipFailedStep, ResetCycles: o.ResetCycles,
		ReenterNode: nodePath(s.setup.plan, o.Rerun),
	})); err != nil {
		return err
	}
	if control != nil {
		if err := s.commit(ctx, *control); err != nil {
			return err
		}
	}
	return r.awaitFencedOwner(ctx)
}

// awaitFencedOwner waits until the previous kernel has noticed the forced takeover and ended its agent. Two
// agents at once would write to the same files. It then journals the processes of an earlier run that were ended.
func (r *run) awaitFencedOwner(ctx context.Context) error {
	s := r.session
	// The previous kernel notices the takeover within a second, then cancels its agent and stops its plugins.
	const wait = 15 * time.Second
	limited, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	if err := s.lease.lock.AwaitPreviousHolder(limited); err != nil {
		s.handle.log.Warn("the previous kernel may still be running", "error", err)
		r.possiblyFenced = s.state.Epoch > 1 // otherwise no earlier kernel has run the session
	}
	for _, p := range s.lease.survivors {
		if err := s.commit(ctx, event.New(event.SurvivorEnded, nil, "", p)); err != nil {
			return err
		}
	}
	return nil
}

// kernelStart describes this kernel, its hooks and the confinement of its agents for the journal.
func (r *run) kernelStart(ctx context.Context) event.KernelStartData {
	d := r.session.lease.kernelStartData()
	d.Waits = r.waits
	confinement := r.session.setup.confinement(ctx)
	d.Confined, d.Unprotected = confinement.Confined, confinement.Exposed && asks(r.session.setup.plan)
	d.Sandboxes = confinement.Modes
	for _, c := range r.hooks.Callbacks {
		d.Callbacks = append(d.Callbacks, string(c.Point))
	}
	return d
}

// flowData returns the command line's overrides of the plan's flow, nil for none.
func flowData(p *plan.Plan) *plan.PathOverrides {
	o := p.Pipeline.Overrides
	if o == nil || reflect.ValueOf(o.PathOverrides).IsZero() {
		return nil
	}
	return &o.PathOverrides
}

// callResumeHooks calls the OnResume hooks with the text of the resume. It returns the text for the prompts
// and, if a hook pauses or aborts, the control event for it.
func (r *run) callResumeHooks(ctx context.Context, text string) (prompt string, control *event.Event) {
	controlEvent := func(action string, answer sdk.HookAnswer) *event.Event {
		e := event.New(event.Control, nil, "", event.ControlData{
			ID: NewID(), Action: action, Kind: string(state.PauseHook), Reason: event.Truncate(answer.Reason, event.MaxText), By: "OnResume",
		})
		return &e
	}
	for _, call := range r.hooks.Resume {
		answer := r.callResume(ctx, call, text)
		switch answer.Action {
		case sdk.ActionModifyContext:
			text = answer.Context
		case sdk.ActionPause:
			return text, controlEvent("pause", answer)
		case sdk.ActionAbort:
			return text, controlEvent("abort", answer)
		}
	}
	return text, nil
}

// callResume calls one hook. If the hook panics, Config.HookErrors is its action; by default the panic is ignored.
func (r *run) callResume(ctx context.Context, call ResumeHook, text string) (answer sdk.HookAnswer) {
	defer func() {
		if p := recover(); p != nil {
			r.session.handle.log.Error("an OnResume hook panicked", "panic", p)
			answer = sdk.HookAnswer{Action: sdk.Action(r.session.handle.env.Config.HookErrors), Reason: fmt.Sprint("an OnResume hook panicked: ", p)}
		}
	}()
	return call(ctx, r.session.state.Clone(), text)
}

// drive prepares a session, runs it until it ends or pauses, and closes it.
func (r *run) drive(ctx context.Context, prepare func(context.Context) error) (_ *inspect.Result, err error) {
	s := r.session
	defer func() { err = s.lease.close(err) }()
	local, done, err := s.lease.engine.active.add(s.handle.name)
	if err != nil {
		return nil, err
	}
	defer done()
	r.notifier = notify.New(notify.Config{
		Entries: s.handle.env.Notifications(), WorkDir: s.handle.env.Project.Path(), Program: s.handle.env.Config.Program,
		Log: s.handle.env.Log.Named("notify"), Report: s.feed.deferInfo,
		Action: func(ctx context.Context, n settings.Notification) (sdk.HookAction, error) { // the plan is not known yet
			return s.setup.components().NotifyAction(ctx, n)
		},
	})
	s.lease.closers = append(s.lease.closers, r.notifier.Close)
	if err := prepare(ctx); err != nil {
		return nil, err
	}
	s.feed.flushDeferred()
	final, err := r.execute(ctx, local)
	s.state = final
	if err != nil {
		return nil, err
	}
	done()
	if err := r.applyUnread(context.WithoutCancel(ctx), local); err != nil {
		return nil, err
	}
	return s.finish()
}

func (r *run) execute(ctx context.Context, local <-chan event.Event) (state.State, error) {
	s := r.session
	if err := s.applyMessages(ctx); err != nil {
		return s.state, err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	messages, stop := r.control.start(local, cancel)
	defer stop()
	env := &effect.Env{
		Plan: s.setup.plan, Project: s.handle.env.Project, Dir: s.handle.dir, Inputs: inputs.NewReader(s.handle.dir, s.setup.plan), Log: s.handle.env.Log,
		Redactor: s.setup.redactor, Program: s.handle.env.Config.Program,
	}
	components := s.setup.components()
	runner := &attempt.Runner{
		Env: env, Providers: components, Ready: s.replay.stateFile.Sync,
		Attempts: attemptdir.Attempts{OpenedAt: s.lease.openedAt, PossiblyFenced: r.possiblyFenced},
		Live:     func(report inspect.Report) { s.feed.send(inspect.Update{Report: &report}) },
	}
	defer runner.Restore(ctx, func(_ context.Context, e event.Event) error { s.feed.appendInfo(e); return nil })
	return kernel.Run(ctx, kernel.Config{
		Plan: s.setup.plan, Journal: s.lease.journal, Control: messages, OnEvent: s.onEvent, OnRefused: s.mailbox.rejectEvent,
		Effects: &effects{
			components: components, hooks: &hook.Caller{Env: env, Actions: components, Callbacks: r.hooks.Callbacks, OnError: s.handle.env.Config.HookErrors},
			runner: runner, awaitStateFile: s.replay.stateFile.Sync,
			asker: &termination.Asker{Env: env, Strategies: components}, evaluator: &outcome.Evaluator{Env: env, Actions: components},
			planner: &steps.Planner{Env: env}, traces: s.handle.env.Config.Traces,
		},
	}, s.state)
}

// applyUnread commits control events of this process that arrived after the run stopped listening. The caller
// guarantees that local receives no more.
func (r *run) applyUnread(ctx context.Context, local <-chan event.Event) error {
	for len(local) > 0 {
		r.control.unread = append(r.control.unread, <-local)
	}
	for _, e := range r.control.unread {
		if err := r.session.commitIfValid(ctx, e); err != nil {
			return err
		}
	}
	return r.session.applyStop(ctx)
}

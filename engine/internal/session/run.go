package session

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"reflect"
	"time"

	"github.com/dodo-digital/agent-pipelines/engine/inspect"
	"github.com/dodo-digital/agent-pipelines/engine/internal/attempt"
	"github.com/dodo-digital/agent-pipelines/engine/internal/attemptdir"
	"github.com/dodo-digital/agent-pipelines/engine/internal/effect"
	"github.com/dodo-digital/agent-pipelines/engine/internal/hook"
	"github.com/dodo-digital/agent-pipelines/engine/internal/inputs"
	"github.com/dodo-digital/agent-pipelines/engine/internal/notify"
	"github.com/dodo-digital/agent-pipelines/engine/internal/outcome"
	"github.com/dodo-digital/agent-pipelines/engine/internal/source"
	"github.com/dodo-digital/agent-pipelines/engine/internal/statefile"
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
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
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
			s.removeEmptyDir()
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
	s.configs, s.warnings, s.sandbox = configs, warnings, o.Sandbox
	r := newRun(s, hooks, o.Wait, o.Notes, o.Observe)
	return r.drive(ctx, func(ctx context.Context) error { return r.resume(ctx, o) })
}

// run is one run of a session, from a start or resume until it ends or pauses.
type run struct {
	*session
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
		r.notifier.Observe(s.plan, e, st)
	}
	return r
}

// begin writes the session's files and its first events.
func (r *run) begin(ctx context.Context, src *source.Source, force bool) error {
	if err := r.setPlan(src.Plan); err != nil {
		return err
	}
	src.Plan = r.redactPlan(src.Plan)
	r.plan, r.configs, r.warnings = src.Plan, src.Configs, r.engine.env.RedactDiagnostics(src.Warnings)
	replayed, err := r.replayAgain()
	if err != nil {
		return err
	}
	r.replay = replayed
	if err := r.fold(); err == nil && !force {
		if err := existsError(r.name, r.state.Status); err != nil {
			return err
		}
	}
	providers, err := r.blockProviders(ctx)
	if err != nil {
		return err
	}
	if err := r.preflight(ctx); err != nil {
		return err
	}
	digest, err := r.writePlan(src)
	if err != nil {
		return err
	}
	now := time.Now()
	runID := newRunID(now)
	input, nodeArtifacts, err := src.Input.Store(r.dir, r.plan, r.redactor, runID, now)
	if err != nil {
		return err
	}
	d := event.SessionStartData{
		Mode: src.Mode, JournalVersion: event.JournalVersion, SchedulerVersion: progress.Version, Flow: flowData(src.Plan),
		PlanSHA256: digest, SkipDelays: r.engine.env.Config.SkipDelays, Providers: providers,
		Runs: src.Runs, Input: input, SuppliedArtifacts: nodeArtifacts,
	}
	if src.Mode == "loop" {
		d.Stage, d.StageName = r.plan.Nodes[0].ID, r.plan.Pipeline.Name
	} else {
		d.Pipeline, d.PipelineFile = r.plan.Pipeline.Name, src.File
	}
	r.feed.sendWarnings()
	events, err := r.journal.Begin(ctx, runID, d, r.kernelStart())
	if err != nil {
		return err
	}
	if err := r.apply(events); err != nil { // session_start resets the state, except for fields that outlive a run
		return err
	}
	return r.awaitFencedOwner(ctx)
}

// resume replays the journal and continues the session.
func (r *run) resume(ctx context.Context, o ResumeOptions) error {
	recovered, err := r.recoverState(ctx)
	if err != nil {
		return err
	}
	switch {
	case !r.canContinue(o) && recovered != nil: // the journal is incomplete, so no derived file is written
		return finalError(r.state, o)
	case !r.canContinue(o):
		return r.refuseEnded(o)
	}
	if err := r.checkResumable(ctx, recovered, o); err != nil {
		return err
	}
	used := schedule.RunGuardrailFailure(r.plan, r.state)
	r.feed.sendWarnings()
	if err := r.beginEpoch(ctx, recovered, r.kernelStart()); err != nil {
		return err
	}
	if !r.canContinue(o) { // the previous kernel ended the session meanwhile
		return r.refuseEnded(o)
	}
	if err := errors.Join(r.applyMessages(ctx), r.applyResolutions(ctx)); err != nil { // before session_resumed, which answers open questions by default
		return err
	}
	text, control := r.callResumeHooks(ctx, o.Context)
	if err := r.commit(ctx, event.New(event.SessionResumed, nil, "", event.SessionResumedData{
		By: o.By, Context: text, Renew: used != nil, SkipFailedStep: o.SkipFailedStep, ResetCycles: o.ResetCycles,
		ReenterNode: nodePath(r.plan, o.Rerun),
	})); err != nil {
		return err
	}
	if control != nil {
		if err := r.commit(ctx, *control); err != nil {
			return err
		}
	}
	return r.awaitFencedOwner(ctx)
}

// refuseEnded refuses to resume an ended session. It first updates the derived files, which a crash after the last event
// may have left out of date.
func (r *run) refuseEnded(o ResumeOptions) error {
	if err := r.writeEnd(true); err != nil {
		r.log.Warn("derived files are out of date", "error", err)
	}
	return finalError(r.state, o)
}

// awaitFencedOwner waits until the previous kernel has noticed the forced takeover and ended its agent. Two
// agents at once would write to the same files. It then journals the processes of an earlier run that were ended.
func (r *run) awaitFencedOwner(ctx context.Context) error {
	// The previous kernel notices the takeover within a second, then cancels its agent and stops its plugins.
	const wait = 15 * time.Second
	limited, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	if err := r.lock.AwaitPreviousHolder(limited); err != nil {
		r.log.Warn("the previous kernel may still be running", "error", err)
		r.possiblyFenced = r.state.Epoch > 1 // otherwise no earlier kernel has run the session
	}
	for _, p := range r.survivors {
		if err := r.commit(ctx, event.New(event.SurvivorEnded, nil, "", p)); err != nil {
			return err
		}
	}
	return nil
}

// kernelStart describes this kernel and its hooks for the journal.
func (r *run) kernelStart() event.KernelStartData {
	d := r.kernelStartData()
	d.Waits = r.waits
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
			r.log.Error("an OnResume hook panicked", "panic", p)
			answer = sdk.HookAnswer{Action: sdk.Action(r.engine.env.Config.HookErrors), Reason: fmt.Sprint("an OnResume hook panicked: ", p)}
		}
	}()
	return call(ctx, r.state.Clone(), text)
}

// drive prepares a session, runs it until it ends or pauses, and closes it.
func (r *run) drive(ctx context.Context, prepare func(context.Context) error) (_ *inspect.Result, err error) {
	defer func() { err = r.close(err) }()
	local, done, err := r.engine.active.add(r.name)
	if err != nil {
		return nil, err
	}
	defer done()
	r.notifier = notify.New(notify.Config{
		Entries: r.notifications(), Action: r.notifyAction, WorkDir: r.engine.env.Project.Path(), Program: r.engine.env.Config.Program,
		Log: r.engine.env.Log.Named("notify"), Report: r.feed.deferInfo,
	})
	r.closers = append(r.closers, r.notifier.Close)
	if err := prepare(ctx); err != nil {
		return nil, err
	}
	r.feed.flushDeferred()
	final, err := r.execute(ctx, local)
	r.state = final
	if err != nil {
		return nil, err
	}
	done()
	if err := r.applyUnread(context.WithoutCancel(ctx), local); err != nil {
		return nil, err
	}
	return r.finish()
}

func (r *run) execute(ctx context.Context, local <-chan event.Event) (state.State, error) {
	if err := r.applyMessages(ctx); err != nil {
		return r.state, err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	messages, stop := r.control.start(local, cancel)
	defer stop()
	env := r.effectEnv()
	components := r.components()
	runner := &attempt.Runner{
		Env: env, Providers: components, Ready: r.replay.stateFile.Sync,
		Attempts: attemptdir.Attempts{OpenedAt: r.openedAt, PossiblyFenced: r.possiblyFenced},
		Live:     func(report inspect.Report) { r.feed.send(inspect.Update{Report: &report}) },
	}
	defer runner.Restore(ctx, func(_ context.Context, e event.Event) error { r.feed.appendInfo(e); return nil })
	return kernel.Run(ctx, kernel.Config{
		Plan: r.plan, Journal: r.journal, Control: messages, OnEvent: r.onEvent, OnRefused: r.rejectEvent,
		Effects: &effects{
			components: components, hooks: &hook.Caller{Env: env, Actions: components, Callbacks: r.hooks.Callbacks, OnError: r.engine.env.Config.HookErrors},
			runner: runner, awaitStateFile: r.replay.stateFile.Sync,
			asker: &termination.Asker{Env: env, Strategies: components}, evaluator: &outcome.Evaluator{Env: env, Actions: components},
			planner: &steps.Planner{Env: env}, traces: r.engine.env.Config.Traces,
		},
	}, r.state)
}

// effectEnv returns the environment of the run's effects.
func (r *run) effectEnv() *effect.Env {
	return &effect.Env{
		Plan: r.plan, Project: r.engine.env.Project, Dir: r.dir, Inputs: inputs.NewReader(r.dir, r.plan), Log: r.engine.env.Log,
		Redactor: r.redactor, Program: r.engine.env.Config.Program,
	}
}

// applyUnread commits control events of this process that arrived after the run stopped listening. The caller
// guarantees that local receives no more.
func (r *run) applyUnread(ctx context.Context, local <-chan event.Event) error {
	for len(local) > 0 {
		r.control.unread = append(r.control.unread, <-local)
	}
	for _, e := range r.control.unread {
		if err := r.commitIfValid(ctx, e); err != nil {
			return err
		}
	}
	return r.applyStop(ctx)
}

// finish writes the derived files of an ended or paused run and returns its result.
func (r *run) finish() (*inspect.Result, error) {
	result := r.result()
	err := r.writeEnd(false)
	if _, system := failure.SystemHint(err); system { // the journal is complete; these files are derived from it
		r.log.Warn("derived files are out of date; the next resume rebuilds them", "error", err)
		err = nil
	}
	return result, err
}

// writeEnd writes the derived files, and adds an ended loop to the project's list of completed loops. again says
// whether an earlier kernel may have added the loop already.
func (r *run) writeEnd(again bool) error {
	return errors.Join(r.flushViews(), r.recordCompletion(again))
}

func (r *run) recordCompletion(again bool) error {
	if r.state.Mode != "loop" || r.state.EndedAt == nil {
		return nil
	}
	c := statefile.Completion{Session: r.name, Type: r.plan.Nodes[0].Ref, CompletedAt: r.state.EndedAt.UTC().Format(time.RFC3339)}
	switch {
	case r.state.Status == state.Completed && r.state.Reason == "max_iterations":
		c.Status = statefile.CompletionMaximum
	case r.state.Status == state.Completed:
		c.Status = statefile.CompletionComplete
	case r.state.Status == state.Failed:
		c.Status = statefile.CompletionFailed
	default:
		return nil
	}
	return statefile.RecordCompletion(context.Background(), r.engine.env.Project, c, again)
}

func (r *run) result() *inspect.Result {
	st := r.state
	result := &inspect.Result{
		Session: r.name, RunID: st.RunID, Status: st.Status, Mode: st.Mode, Reason: cmp.Or(st.Reason, st.PauseReason),
		PauseKind: st.PauseKind, PauseCode: st.PauseCode, Failure: st.Failure, Completed: inspect.CompletedNodes(r.plan, st), Stages: inspect.StageResults(r.plan, st, r.dir.Path()),
		Run: st.Run, Runs: st.Runs, Dir: r.dir.Path(), Deliverable: inspect.NewDeliverable(r.plan, st, r.dir.Path()),
		Usage: st.Usage, Duration: time.Since(r.openedAt), Warnings: r.warnings, Questions: inspect.ListQuestions(r.engine.env.Config.Program, r.plan, st, r.dir),
		Secrets: r.foundSecrets,
	}
	reachedMaximum := st.Mode == "loop" && st.Reason == "max_iterations"
	result.Success = st.Status == state.Completed && !reachedMaximum
	if !st.Status.Final() {
		result.ResumeCommand = inspect.ResumeCommand(r.engine.env.Config.Program, r.name, r.plan, st)
	}
	return result
}

package session

import (
	"cmp"
	"context"
	"encoding/json"
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
	"github.com/dodo-digital/agent-pipelines/engine/internal/outcome"
	"github.com/dodo-digital/agent-pipelines/engine/internal/redaction"
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
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
)

// Run starts a session and runs it until it ends or pauses. It refuses a session that can be resumed or has
// ended, unless Force restarts it in the same directory.
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
	s.deferNotes(o.Notes)
	s.interactive = o.Wait
	s.hooks = hooks
	return s.drive(ctx, o.Observe, func(ctx context.Context) error {
		err := s.begin(ctx, src, o.Force)
		if err != nil && s.replay.log.Count == 0 {
			s.removeEmptyDir()
		}
		return err
	})
}

// Resume continues a session that is paused, failed or crashed, with its original plan. The error wraps
// [ErrNothingToResume] or [ErrTerminal] if it cannot continue.
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
	s.configs, s.warnings, s.interactive, s.sandbox = configs, warnings, o.Wait, o.Sandbox
	s.hooks = hooks
	s.deferNotes(o.Notes)
	return s.drive(ctx, o.Observe, func(ctx context.Context) error {
		return s.resume(ctx, o)
	})
}

// begin writes the session's files and its first events.
func (s *session) begin(ctx context.Context, src *source.Source, force bool) error {
	if err := s.setPlan(src.Plan); err != nil {
		return err
	}
	src.Plan = s.redactPlan(src.Plan)
	s.plan, s.configs, s.warnings = src.Plan, src.Configs, s.engine.env.RedactDiagnostics(src.Warnings)
	replayed, err := s.replayAgain()
	if err != nil {
		return err
	}
	s.useReplay(replayed)
	if err := s.fold(); err == nil && !force {
		if err := existsError(s.name, s.state.Status); err != nil {
			return err
		}
	}
	providers, err := s.blockProviders(ctx)
	if err != nil {
		return err
	}
	if err := s.preflight(ctx); err != nil {
		return err
	}
	digest, err := s.writePlan(src)
	if err != nil {
		return err
	}
	now := time.Now()
	runID := newRunID(now)
	input, nodeArtifacts, err := src.Input.Store(s.dir, s.plan, s.redactor, runID, now)
	if err != nil {
		return err
	}
	d := event.SessionStartData{
		Mode: src.Mode, JournalVersion: event.JournalVersion, SchedulerVersion: progress.Version, Flow: flowData(src.Plan),
		PlanSHA256: digest, SkipDelays: s.engine.env.Config.SkipDelays, Providers: providers,
		Runs: src.Runs, Input: input, SuppliedArtifacts: nodeArtifacts,
	}
	if src.Mode == "loop" {
		d.Stage, d.StageName = s.plan.Nodes[0].ID, s.plan.Pipeline.Name
	} else {
		d.Pipeline, d.PipelineFile = s.plan.Pipeline.Name, src.File
	}
	s.sendWarnings()
	events, err := s.journal.Begin(ctx, runID, d, s.kernelStartData())
	if err != nil {
		return err
	}
	if err := s.apply(events); err != nil { // session_start resets the state, except for fields that outlive a run
		return err
	}
	s.awaitFencedOwner(ctx)
	return s.reportSurvivors(ctx)
}

// resume replays the journal and continues the session.
func (s *session) resume(ctx context.Context, o ResumeOptions) error {
	recovered, err := s.recoverState(ctx)
	if err != nil {
		return err
	}
	switch {
	case !s.canContinue(o) && recovered != nil: // nothing to write
		return finalError(s.state, o)
	case !s.canContinue(o):
		return s.refuseEnded(o)
	}
	if err := s.checkResumable(ctx, recovered, o); err != nil {
		return err
	}
	used := schedule.RunGuardrailFailure(s.plan, s.state)
	s.sendWarnings()
	if err := s.beginEpoch(ctx, recovered); err != nil {
		return err
	}
	if !s.canContinue(o) { // the previous kernel ended it meanwhile
		return s.refuseEnded(o)
	}
	if err := errors.Join(s.applyMessages(ctx), s.applyResolutions(ctx)); err != nil { // before session_resumed, which answers open questions by default
		return err
	}
	text, control := s.callResumeHooks(ctx, o.Context)
	if err := s.commit(ctx, event.New(event.SessionResumed, nil, "", event.SessionResumedData{
		By: o.By, Context: text, Renew: used != nil, SkipFailedStep: o.SkipFailedStep, ResetCycles: o.ResetCycles,
		ReenterNode: nodePath(s.plan, o.Rerun),
	})); err != nil {
		return err
	}
	if control != nil {
		if err := s.commit(ctx, *control); err != nil {
			return err
		}
	}
	s.awaitFencedOwner(ctx)
	return s.reportSurvivors(ctx)
}

// refuseEnded refuses to resume an ended session. It first updates the derived files, which a crash after the last event
// may have left out of date.
func (s *session) refuseEnded(o ResumeOptions) error {
	if err := s.writeEnd(true); err != nil {
		s.log.Warn("derived files are out of date", "error", err)
	}
	return finalError(s.state, o)
}

// awaitFencedOwner waits until the previous kernel has noticed the forced takeover and ended its agent. Two
// agents at once would write to the same files.
func (s *session) awaitFencedOwner(ctx context.Context) {
	const wait = 15 * time.Second // it notices within a second, then cancels its agent and stops its plugins
	ctx, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	if err := s.lock.AwaitPreviousHolder(ctx); err != nil {
		s.log.Warn("the previous kernel may still be running", "error", err)
		s.possiblyFenced = s.state.Epoch > 1 // otherwise no earlier kernel has run it
	}
}

// reportSurvivors journals the processes of an earlier run that were ended.
func (s *session) reportSurvivors(ctx context.Context) error {
	for _, p := range s.survivors {
		if err := s.commit(ctx, event.New(event.SurvivorEnded, nil, "", p)); err != nil {
			return err
		}
	}
	return nil
}

// flowData returns the command line's overrides of the plan's flow, nil for none.
func flowData(p *plan.Plan) *event.PathOverrides {
	o := p.Pipeline.Overrides
	if o == nil {
		return nil
	}
	d := event.PathOverrides{
		Skip: o.Skip, Timeouts: o.Timeouts, MaxCycles: o.MaxCycles, Timeout: o.Timeout,
		Start: o.Start, ExitAfter: o.ExitAfter, Supervised: o.Supervised, Iterate: o.Iterate,
	}
	if reflect.ValueOf(d).IsZero() {
		return nil
	}
	return &d
}

// drive prepares a session, runs it until it ends or pauses, and closes it.
func (s *session) drive(ctx context.Context, observe func(inspect.Update), prepare func(context.Context) error) (_ *inspect.Result, err error) {
	defer func() { err = s.close(err) }()
	if observe != nil {
		s.observe = observe
	}
	control, done, err := s.engine.active.add(s.name)
	if err != nil {
		return nil, err
	}
	defer done()
	s.startNotifier()
	if err := prepare(ctx); err != nil {
		return nil, err
	}
	s.flushDeferred()
	final, err := s.run(ctx, control)
	s.state = final
	if err != nil {
		return nil, err
	}
	done()
	if err := s.applyUnread(context.WithoutCancel(ctx), control); err != nil {
		return nil, err
	}
	return s.finish()
}

func (s *session) run(ctx context.Context, local <-chan event.Event) (state.State, error) {
	if err := s.applyMessages(ctx); err != nil {
		return s.state, err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	messages, stop := s.startControl(local, cancel)
	defer stop()
	env := s.effectEnv()
	maker := &attempt.Runner{
		Env: env, Secrets: &redaction.SecretDedup{}, Ready: s.stateFile.Sync,
		Options: attemptdir.Options{OpenedAt: s.started, PossiblyFenced: s.possiblyFenced, Published: &attemptdir.Published{}},
		Live: func(r inspect.Report) {
			s.send(inspect.Update{Session: s.name, Report: &r, Plan: s.plan, Dir: s.dir.Path()})
		},
	}
	defer maker.Restore(ctx, func(_ context.Context, e event.Event) error { s.appendInfo(e); return nil })
	return kernel.Run(ctx, kernel.Config{
		Plan: s.plan, Journal: s.journal, Control: messages, OnEvent: s.onEvent, OnRefused: s.rejectEvent,
		Effects: &effects{
			sessionComponents: s.components(), hooks: &hook.Caller{Env: env, Actions: s.components(), Callbacks: s.hooks.Callbacks, OnError: s.engine.env.Config.HookErrors},
			runner: maker, awaitStateFile: s.stateFile.Sync,
			asker: &termination.Asker{Env: env}, evaluator: &outcome.Evaluator{Env: env, Actions: s.components()},
			planner: &steps.Planner{Env: env}, traces: s.engine.env.Config.Traces,
		},
	}, s.state)
}

// effectEnv returns the environment of the run's effects.
func (s *session) effectEnv() *effect.Env {
	return &effect.Env{
		Plan: s.plan, Project: s.engine.env.Project, Dir: s.dir, Inputs: inputs.NewReader(s.dir, s.plan), Log: s.engine.env.Log,
		Redactor: s.redactor, Program: s.engine.env.Config.Program,
	}
}

// Record journals an event of a session that no kernel holds, and its immediate consequences.
func (e *Supervisor) Record(ctx context.Context, name string, ev event.Event) error {
	s, err := e.openExclusive(ctx, name, false, false)
	if err != nil {
		return err
	}
	return s.close(s.record(ctx, ev))
}

func (s *session) record(ctx context.Context, ev event.Event) error {
	from, err := s.recoverState(ctx)
	if err != nil {
		return err
	}
	if s.state.Status.Final() {
		return terminalError(s.name, s.state.Status)
	}
	if err := s.beginEpoch(ctx, from); err != nil {
		return err
	}
	if _, invalid := progress.Apply(s.plan, s.state, ev); invalid != nil { // such as an answer to an interrupted attempt
		return NotAcceptedError(s.name, invalid)
	}
	if err := s.commit(ctx, ev); err != nil {
		return err
	}
	if err := s.applyStop(ctx); err != nil {
		return err
	}
	return s.flushViews()
}

// finish writes the derived files of an ended or paused run and returns its result.
func (s *session) finish() (*inspect.Result, error) {
	r := s.result()
	err := s.writeEnd(false)
	if _, system := failure.SystemHint(err); system { // the journal is complete; these files are derived from it
		s.log.Warn("derived files are out of date; the next resume rebuilds them", "error", err)
		err = nil
	}
	return r, err
}

// writeEnd writes the derived files, and adds an ended loop to the project's list of completed loops. again says that an
// earlier kernel may have done so.
func (s *session) writeEnd(again bool) error {
	return errors.Join(s.flushViews(), s.recordCompletion(again))
}

func (s *session) recordCompletion(again bool) error {
	if s.state.Mode != "loop" || s.state.EndedAt == nil {
		return nil
	}
	c := statefile.Completion{Session: s.name, Type: s.plan.Nodes[0].Ref, CompletedAt: s.state.EndedAt.UTC().Format(time.RFC3339)}
	switch {
	case s.state.Status == state.Completed && s.state.Reason == "max_iterations":
		c.Status = statefile.CompletionMaximum
	case s.state.Status == state.Completed:
		c.Status = statefile.CompletionComplete
	case s.state.Status == state.Failed:
		c.Status = statefile.CompletionFailed
	default:
		return nil
	}
	return statefile.RecordCompletion(context.Background(), s.engine.env.Project, c, again)
}

func (s *session) result() *inspect.Result {
	st := s.state
	r := &inspect.Result{
		Session: s.name, RunID: st.RunID, Status: st.Status, Mode: st.Mode, Reason: cmp.Or(st.Reason, st.PauseReason),
		PauseKind: st.PauseKind, PauseCode: st.PauseCode, Failure: st.Failure, Completed: inspect.CompletedNodes(s.plan, st), Stages: inspect.StageResults(s.plan, st, s.dir.Path()),
		Run: st.Run, Runs: st.Runs, Dir: s.dir.Path(), Deliverable: inspect.NewDeliverable(s.plan, st, s.dir.Path()),
		Usage: st.Usage, Duration: time.Since(s.started), Warnings: s.warnings, Questions: inspect.ListQuestions(s.engine.env.Config.Program, s.plan, st, s.dir),
		Secrets: s.foundSecrets,
	}
	reachedMaximum := st.Mode == "loop" && st.Reason == "max_iterations"
	r.Success = st.Status == state.Completed && !reachedMaximum
	if !st.Status.Final() {
		r.ResumeCommand = inspect.ResumeCommand(s.engine.env.Config.Program, s.name, s.plan, st)
	}
	return r
}

// flushViews clears the inbox and writes the derived files of a session that ends or pauses.
func (s *session) flushViews() error {
	s.clearInbox()
	if err := s.stateFile.Flush(s.state); err != nil {
		return err
	}
	text, err := json.MarshalIndent(inspect.NewMetrics(s.state, s.timeline), "", "  ")
	if err != nil {
		return fmt.Errorf("render %s: %w", store.MetricsFile, err)
	}
	return s.dir.Replace(store.MetricsFile, append(text, '\n'))
}

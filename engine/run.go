package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"time"

	"github.com/dodo-digital/agent-pipelines/engine/internal/attempt"
	"github.com/dodo-digital/agent-pipelines/engine/internal/inputs"
	"github.com/dodo-digital/agent-pipelines/engine/internal/outcome"
	"github.com/dodo-digital/agent-pipelines/engine/internal/statefile"
	"github.com/dodo-digital/agent-pipelines/engine/internal/steps"
	"github.com/dodo-digital/agent-pipelines/engine/internal/termination"
	"github.com/dodo-digital/agent-pipelines/kernel"
	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/kernel/pluginhost"
	"github.com/dodo-digital/agent-pipelines/kernel/schedule"
	"github.com/dodo-digital/agent-pipelines/kernel/state"
	"github.com/dodo-digital/agent-pipelines/kernel/store"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
)

// Run starts a session and drives it until it has ended or waits. It refuses a session that has work
// to resume, or has ended, unless Force starts it anew in the same directory.
//
// A run that fails, pauses or is aborted is a Result, not an error: errors are for what kept the run
// from beginning, and for a journal that cannot be written any more. Cancelling ctx stops at once and
// leaves the session paused and resumable; [Engine.Stop] lets the iteration finish.
func (e *Engine) Run(ctx context.Context, o RunOptions) (*Result, error) {
	src, err := e.starting(ctx, o)
	if err != nil {
		return nil, err
	}
	if err := e.startable(src.session, o.Force); err != nil {
		return nil, err
	}
	s, err := e.hold(ctx, src.session, o.Force, true)
	if err != nil {
		return nil, err
	}
	s.inform(o.Notes)
	s.waits = o.Wait
	s.callbacks, _ = e.callbacks.snapshot()
	return s.drive(ctx, o.Observe, func(ctx context.Context) error {
		err := s.begin(ctx, src, o.Force)
		if err != nil && s.past.log.Count == 0 {
			s.vacate()
		}
		return err
	})
}

// Resume goes on with a session that is paused, failed or was cut off by a crash, with the plan that
// it was started with. It fails with [ErrNothingToResume] or [ErrTerminal] where there is nothing to go on
// with.
func (e *Engine) Resume(ctx context.Context, o ResumeOptions) (*Result, error) {
	if err := store.CheckSession(o.Session); err != nil {
		return nil, err
	}
	configs, warnings, err := e.settings.assign(ctx, e.host)
	if err != nil {
		return nil, err
	}
	s, err := e.hold(ctx, o.Session, o.Force, false)
	if err != nil {
		return nil, err
	}
	s.configs, s.warnings, s.waits, s.sandbox = configs, warnings, o.Wait, o.Sandbox
	s.callbacks, s.resuming = e.callbacks.snapshot()
	s.inform(o.Notes)
	return s.drive(ctx, o.Observe, func(ctx context.Context) error {
		return s.resume(ctx, o)
	})
}

// startable refuses a session that exists, before its lock is taken: whoever holds it is the better
// answer than a lock.
func (e *Engine) startable(name string, force bool) error {
	if force {
		return store.CheckSession(name)
	}
	st, err := e.Status(name)
	switch {
	case errors.Is(err, ErrNoSession):
		return nil
	case err != nil:
		return err
	case st.Held:
		return nil // the lock will refuse, and says more
	case st.Status == "" && st.Damage != "", st.RepairCommand != "":
		return unreadable(name, st.Damage)
	default:
		return occupied(name, st.Status)
	}
}

// begin writes the session's files and its first events.
func (s *session) begin(ctx context.Context, src *source, force bool) error {
	if err := s.heed(src.plan); err != nil {
		return err
	}
	src.plan = s.withoutSecrets(src.plan)
	s.plan, s.configs, s.warnings = src.plan, src.configs, s.engine.clean(src.warnings)
	before, err := s.readAgain()
	if err != nil {
		return err
	}
	s.follow(before)
	if err := s.fold(); err == nil && !force {
		if err := occupied(s.name, s.state.Status); err != nil {
			return err
		}
	}
	known, err := s.blockProviders(ctx)
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
	input, given, err := s.takeHanded(src.handed, runID, now)
	if err != nil {
		return err
	}
	d := event.SessionStartData{
		Mode: src.mode, JournalVersion: event.JournalVersion, SchedulerVersion: schedule.Version, Flow: flowOf(src.plan),
		PlanSHA256: digest, SkipDelays: s.engine.config.skipDelays, Providers: known,
		Runs: src.runs, Input: input, Given: given,
	}
	if src.mode == "loop" {
		d.Stage, d.StageName = s.plan.Nodes[0].ID, s.plan.Pipeline.Name
	} else {
		d.Pipeline, d.PipelineFile = s.plan.Pipeline.Name, src.file
	}
	s.warn()
	events, err := s.journal.Begin(ctx, runID, d, s.kernelStart())
	if err != nil {
		return err
	}
	if err := s.apply(events); err != nil { // session_start resets the state but for what outlives a run
		return err
	}
	s.awaitOvertaken(ctx)
	return s.reportSurvivors(ctx)
}

// resume folds the journal and takes the session on.
func (s *session) resume(ctx context.Context, o ResumeOptions) error {
	from, err := s.recall(ctx)
	if err != nil {
		return err
	}
	switch {
	case !s.mayGoOn(o) && from != nil: // there is nothing to write for it
		return final(s.state, o)
	case !s.mayGoOn(o):
		return s.ended(o)
	}
	if err := fits(s.plan, s.state, o); err != nil {
		return err
	}
	used := schedule.UsedUp(s.plan, s.state)
	if used != nil && !o.Force {
		return usedUp(s.name, used)
	}
	if from == nil || from.src == nil { // one that is made anew is the session's from now on
		if err := s.checkPlan(); err != nil {
			return err
		}
	}
	if _, faults := s.resolutions(); len(faults) > 0 {
		return s.engine.clean(faults)
	}
	s.providers = s.state.Providers
	if err := s.preflight(ctx); err != nil {
		return err
	}
	s.warn()
	if err := s.takeHold(ctx, from); err != nil {
		return err
	}
	if !s.mayGoOn(o) { // by the kernel that was overtaken, until a moment ago
		return s.ended(o)
	}
	if err := errors.Join(s.takeMessages(ctx), s.takeResolutions(ctx)); err != nil { // of questions that resuming answers, if nobody did
		return err
	}
	text, then := s.resumed(ctx, o.Context)
	if err := s.commit(ctx, event.New(event.SessionResumed, nil, "", event.SessionResumedData{
		By: o.By, Context: text, Renew: used != nil, SkipFailedStep: o.SkipFailedStep, ResetCycles: o.ResetCycles,
		Again: pathOf(s.plan, o.Again),
	})); err != nil {
		return err
	}
	if then != nil {
		if err := s.commit(ctx, *then); err != nil {
			return err
		}
	}
	s.awaitOvertaken(ctx)
	return s.reportSurvivors(ctx)
}

// mayGoOn reports whether the session has not ended, or is to be opened again.
func (s *session) mayGoOn(o ResumeOptions) bool {
	return !s.state.Status.Final() || s.state.Status == state.Completed && o.Reopen && o.Again != ""
}

// ended refuses a session that has ended for good. A crash after its last event may have left state.json
// behind.
func (s *session) ended(o ResumeOptions) error {
	if err := s.rest(); err != nil {
		s.log.Warn("files that repeat what the journal says are behind it", "error", err)
	}
	return final(s.state, o)
}

// awaitOvertaken gives the kernel whose session was taken by force the time to notice and to end its
// agent: two agents at once would write to the same files.
func (s *session) awaitOvertaken(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, overtakenWait)
	defer cancel()
	if err := s.lock.AwaitOverridden(ctx); err != nil {
		s.log.Warn("the kernel that was overtaken may still be at work", "error", err)
		s.contested = s.state.Epoch > 1 // else no kernel of ours was there
	}
}

// reportSurvivors journals which processes of an earlier run were ended.
func (s *session) reportSurvivors(ctx context.Context) error {
	for _, p := range s.survivors {
		events, err := s.journal.Append(ctx, event.New(event.SurvivorEnded, nil, "", p))
		if err != nil {
			return err
		}
		if err := s.apply(events); err != nil {
			return err
		}
	}
	return nil
}

// flowOf is what the command line said over the plan's way, nil for nothing.
func flowOf(p *plan.Plan) *event.FlowData {
	o := p.Pipeline.Overrides
	if o == nil {
		return nil
	}
	d := event.FlowData{
		Skip: o.Skip, Timeouts: o.Timeouts, MaxCycles: o.MaxCycles, Timeout: o.Timeout,
		Start: o.Start, ExitAfter: o.ExitAfter, Supervised: o.Supervised, Iterate: o.Iterate,
	}
	if reflect.ValueOf(d).IsZero() {
		return nil
	}
	return &d
}

// drive prepares the session, runs it to its end or its next rest, and closes it.
func (s *session) drive(ctx context.Context, observe func(Update), prepare func(context.Context) error) (_ *Result, err error) {
	defer func() { err = s.close(err) }()
	if observe != nil {
		s.observe = observe
	}
	control, done, err := s.engine.activate(s.name)
	if err != nil {
		return nil, err
	}
	defer done()
	s.watch()
	if err := prepare(ctx); err != nil {
		return nil, err
	}
	s.flushNotices()
	final, err := s.run(ctx, control)
	s.state = final
	if err != nil {
		return nil, err
	}
	done()
	if err := s.takeLeft(context.WithoutCancel(ctx), control); err != nil {
		return nil, err
	}
	return s.finish()
}

func (s *session) run(ctx context.Context, local <-chan event.Event) (state.State, error) {
	if err := s.takeMessages(ctx); err != nil {
		return s.state, err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	messages, stop := s.listen(local, cancel)
	defer stop()
	reader := inputs.NewReader(s.dir, s.plan)
	maker := &attempt.Runner{
		Plan: s.plan, Project: s.engine.project, Dir: s.dir, Inputs: reader, Log: s.engine.log.Named("attempt"),
		Redactor:  s.redactor,
		Uncharged: spared,
		Finds:     &attempt.SecretDedup{},
		Accepted:  &attempt.PublishedFiles{},
		Began:     s.started, Contested: s.contested,
		Ready: s.view.Settle,
		Live:  func(r Report) { s.send(Update{Session: s.name, Report: &r, Plan: s.plan, Dir: s.dir.Path()}) },
	}
	defer maker.Restore(ctx, func(_ context.Context, e event.Event) error { s.note(e); return nil })
	return kernel.Run(ctx, kernel.Config{
		Plan: s.plan, Journal: s.journal, Control: messages, Observe: s.happened, Refused: s.refused,
		Effects: &effects{
			parts: s.components(), hooks: s.caller(),
			maker: maker, ready: s.view.Settle,
			asker: &termination.Asker{
				Plan: s.plan, Project: s.engine.project, Dir: s.dir, Inputs: reader, Log: s.engine.log.Named("strategy"),
				Redactor: s.redactor,
			},
			settler: &outcome.Evaluator{
				Plan: s.plan, Project: s.engine.project, Dir: s.dir, Actions: s.components(), Log: s.engine.log.Named("contract"),
				Redactor: s.redactor, Uncharged: spared,
			},
			planner: &steps.Planner{Plan: s.plan, Dir: s.dir},
			traces:  s.engine.config.traces,
		},
	}, s.state)
}

// spared reports whether a call failed because its process fell during another one.
func spared(err error) bool { return errors.Is(err, pluginhost.ErrCollateralFailure) }

// finish settles the files of a run that rests and makes its result.
func (s *session) finish() (*Result, error) {
	r := s.result()
	err := s.rest()
	if s.state.Mode == "loop" {
		err = errors.Join(err, s.recordCompletion())
	}
	if _, system := failure.OfSystem(err); system { // the journal says how the run ended, these only repeat it
		s.log.Warn("files that repeat what the journal says are behind it; the next resume makes them again", "error", err)
		err = nil
	}
	return r, err
}

// recordCompletion adds a loop that has ended to the project's list of them.
func (s *session) recordCompletion() error {
	c := statefile.Completion{Session: s.name, Type: s.plan.Nodes[0].Ref, CompletedAt: time.Now().UTC().Format(time.RFC3339)}
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
	return statefile.RecordCompletion(context.Background(), s.engine.project, c)
}

func (s *session) result() *Result {
	st := s.state
	r := &Result{
		Session: s.name, RunID: st.RunID, Status: st.Status, Mode: st.Mode, Reason: orElse(st.Reason, st.PauseReason),
		PauseKind: st.PauseKind, PauseCode: st.PauseCode, Failure: st.Failure, Completed: completed(s.plan, st), Stages: stageResults(s.plan, st, s.dir.Path()),
		Run: st.Run, Runs: st.Runs, Dir: s.dir.Path(), Deliverable: deliverable(s.plan, st, s.dir.Path()),
		Usage: st.Usage, Duration: time.Since(s.started), Warnings: s.warnings, Questions: questionsOf(s.plan, st, s.dir),
		Secrets: s.found,
	}
	reachedMaximum := st.Mode == "loop" && st.Reason == "max_iterations"
	r.Success = st.Status == state.Completed && !reachedMaximum
	if !st.Status.Final() {
		r.ResumeCommand = resumeCommand(s.name, s.plan, st)
	}
	return r
}

// pathOf is the path of a node of the pipeline itself, "" for none.
func pathOf(p *plan.Plan, id string) string {
	for _, n := range p.Nodes {
		if n.ID == id && id != "" {
			return n.Path
		}
	}
	return ""
}

// rest settles the inbox and the views of a session that ends or pauses.
func (s *session) rest() error {
	s.clearInbox()
	if err := s.view.Flush(s.state); err != nil {
		return err
	}
	text, err := json.MarshalIndent(metricsOf(s.state, s.account), "", "  ")
	if err != nil {
		return fmt.Errorf("render %s: %w", store.MetricsFile, err)
	}
	return s.dir.Replace(store.MetricsFile, append(text, '\n'))
}

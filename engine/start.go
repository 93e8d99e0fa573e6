package engine

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"time"

	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
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
	if err := s.lock.AwaitPreviousHolder(ctx); err != nil {
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

// fold takes the state from the journal. Events that did not fit when they were written are late
// deliveries and do not fit now.
func (s *session) fold() error {
	st, err := s.past.fold.State()
	if err != nil {
		return failure.New(failure.StateCorrupt, "read the journal of session '%s': %w", s.name, err).
			WithHint("a newer agent-pipelines may have written it")
	}
	s.state = st
	return nil
}

// apply applies events just appended. Those of an earlier epoch are another kernel's, as in a fold.
func (s *session) apply(events []event.Event) error {
	for _, e := range events {
		next, err := schedule.Apply(s.plan, s.state, e)
		if errors.Is(err, schedule.ErrInvalidTransition) && e.Epoch < events[len(events)-1].Epoch {
			s.log.Debug("event left out", "error", err)
			continue
		}
		if err != nil {
			return failure.New(failure.Internal, "apply %s: %w", e.Type, err)
		}
		s.state = next
		s.happened(e, next)
	}
	return nil
}

// preflight asks every provider, strategy and hook action of the plan whether it would work, once for each use of it, and
// those of the notify settings, before anything is written: a missing CLI or a broken plugin costs no iteration.
func (s *session) preflight(ctx context.Context) error {
	known, err := s.blockProviders(ctx)
	if err != nil {
		return err
	}
	var errs []error
	seen := map[string]bool{}
	once := func(n *plan.Node, what string, check func() error) {
		if seen[what] {
			return
		}
		seen[what] = true
		if err := check(); err != nil {
			errs = append(errs, fmt.Errorf("stage %s: %w", n.ID, err))
		}
	}
	for _, n := range stagesOf(s.plan, known) {
		if n.Provider == nil {
			continue
		}
		box := fmt.Sprintf("\x00%+v", s.plan.PolicyOf(n).Sandbox.Complete())
		once(n, fmt.Sprint("provider ", n.Provider.Type, "\x00", n.Provider.Model, box), func() error { return s.checkProvider(ctx, n) })
		if s.plan.PolicyOf(n).Budget.NeedsContext(n.ID) {
			once(n, "context "+n.Provider.Type, func() error { return s.checkContext(ctx, n) })
		}
		once(n, fmt.Sprint("strategy ", n.Termination, box), func() error { return s.checkStrategy(ctx, n) })
		for _, c := range n.Checks {
			once(n, fmt.Sprint("check ", string(c.Config), box), func() error {
				if err := s.checkCheck(ctx, n, c); err != nil {
					return fmt.Errorf("check %s: %w", c.ID, err)
				}
				return nil
			})
		}
	}
	for h := range s.plan.Hooks() {
		if err := s.checkHook(ctx, h); err != nil {
			errs = append(errs, fmt.Errorf("hook at %s: %w", orElse(h.At, string(h.Point)), err))
		}
	}
	return errors.Join(append(errs, s.checkNotify(ctx))...)
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

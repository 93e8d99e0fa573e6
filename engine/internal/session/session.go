package session

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/dodo-digital/agent-pipelines/engine/inspect"
	"github.com/dodo-digital/agent-pipelines/engine/internal/inbox"
	"github.com/dodo-digital/agent-pipelines/engine/internal/question"
	"github.com/dodo-digital/agent-pipelines/engine/internal/statefile"
	"github.com/dodo-digital/agent-pipelines/engine/internal/verification"
	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/journal"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/kernel/progress"
	"github.com/dodo-digital/agent-pipelines/kernel/schedule"
	"github.com/dodo-digital/agent-pipelines/kernel/state"
	"github.com/dodo-digital/agent-pipelines/kernel/store"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
)

// session is an open session with its state, which changes with each event of its journal.
type session struct {
	handle       *handle
	lease        *lease
	setup        *setup
	replay       *replay
	state        state.State
	feed         *feed
	foundSecrets inspect.SecretFold             // in files that agents wrote
	applied      func(event.Event, state.State) // called with each applied event
	mailbox      *mailbox
	check        *verification.Verification // of the journal when it was opened
}

// newSession returns a session without its replay and state.
func newSession(l *lease, s *setup) *session {
	f := &feed{lease: l, setup: s, observe: func(inspect.Update) {}}
	return &session{
		handle: l.handle, lease: l, setup: s, feed: f, mailbox: &mailbox{handle: l.handle, feed: f}, applied: func(event.Event, state.State) {},
	}
}

// openExclusive locks and opens a session. It removes stale locks, opens the journal and replays it, and ends
// processes that a dead kernel left. The caller closes the session's lease.
func (e *Supervisor) openExclusive(ctx context.Context, name string, force, create bool) (_ *session, err error) {
	if err := store.CheckSession(name); err != nil {
		return nil, err
	}
	l := newLease(e, name)
	defer func() {
		if err != nil {
			err = l.close(err)
		}
	}()
	if e.active.contains(name) { // force applies to other processes only
		return nil, runsHereError(name)
	}
	if err := l.acquire(force, create); err != nil {
		return nil, err
	}
	if _, err := l.handle.dir.SweepTemps(); err != nil {
		return nil, err
	}
	var p *plan.Plan
	if !create { // a new run has its own plan
		p, _ = inspect.LoadPlan(l.handle.dir) // an error is reported where the plan is needed
	}
	s := newSession(l, newSetup(l.handle, nil, nil, nil))
	s.replay = l.handle.newReplay(p)
	options := e.env.Config.Journal(e.env.Log)
	options.Redact = s.setup.redactEvent
	heads, err := verification.Load(l.handle.dir, l.handle.log)
	if err != nil && !create { // a new run accepts the journal
		return nil, err
	}
	heads.Configure(&options)
	if l.journal, s.replay.log, err = journal.Open(ctx, l.handle.dir, options, s.replay.apply); err != nil {
		return nil, err
	}
	l.closers = append(l.closers, l.journal.Close)
	if s.check = heads.Judge(l.handle.dir, s.replay.log.Chain); create && s.check.BreakCount > 0 { // a new run begins
		l.handle.log.Warn("the journal was changed", "break", s.check.Breaks[0].Message)
		l.journal.Accept()
	}
	if err := l.endSurvivors(ctx, s.replay.kernels); err != nil {
		return nil, err
	}
	if err := l.startHost(s.feed.pluginEvent); err != nil {
		return nil, err
	}
	s.setup.host = l.host
	l.releaseStale(ctx)
	return s, nil
}

// commit appends an event to the journal and applies it.
func (s *session) commit(ctx context.Context, e event.Event) error {
	events, err := s.lease.journal.Append(ctx, e)
	if err != nil {
		return err
	}
	return s.apply(events)
}

// apply applies events just appended. It ignores invalid events of an earlier epoch, which another kernel wrote, as a
// fold does.
func (s *session) apply(events []event.Event) error {
	for _, e := range events {
		next, err := progress.Apply(s.setup.plan, s.state, e)
		if errors.Is(err, progress.ErrInvalidTransition) && e.Epoch < events[len(events)-1].Epoch {
			s.handle.log.Debug("ignored an event of an earlier epoch", "error", err)
			continue
		}
		if err != nil {
			return failure.New(failure.Internal, "apply %s: %w", e.Type, err)
		}
		s.state = next
		s.onEvent(e, next)
	}
	return nil
}

// onEvent handles an applied event: it updates derived files, inbox and observers.
func (s *session) onEvent(e event.Event, st state.State) {
	if err := s.replay.stateFile.Update(e, st); err != nil {
		s.handle.log.Warn("state.json is out of date", "error", err)
	}
	s.replay.timeline.Apply(e)
	s.handle.acknowledge(e)
	s.applied(e, st)
	s.feed.send(inspect.Update{Event: &e, State: &st})
	if e.Type == event.SecretFound {
		s.foundSecrets.Apply(e)
	}
	for _, info := range s.replay.derived.Apply(s.setup.plan, e, st) {
		s.feed.appendInfo(info)
	}
}

// flushViews clears the inbox and writes the derived files of a session that ends or pauses.
func (s *session) flushViews() error {
	s.mailbox.clear(s.state)
	if err := s.replay.stateFile.Flush(s.state); err != nil {
		return err
	}
	text, err := json.MarshalIndent(inspect.NewMetrics(s.state, s.replay.timeline), "", "  ")
	if err != nil {
		return fmt.Errorf("render %s: %w", store.MetricsFile, err)
	}
	return s.handle.dir.Replace(store.MetricsFile, append(text, '\n'))
}

// applyMessages commits answers and feedback posted while no kernel held the session, before the run continues. Invalid
// messages are dropped.
func (s *session) applyMessages(ctx context.Context) error {
	for _, m := range s.mailbox.poll(s.state) {
		if m.Action != inbox.Answer && m.Action != inbox.Feedback {
			continue
		}
		if err := s.commitIfValid(ctx, m.Event()); err != nil {
			return err
		}
	}
	return nil
}

// commitIfValid commits a control event while no effect is running, or rejects it.
func (s *session) commitIfValid(ctx context.Context, e event.Event) error {
	if _, invalid := progress.Apply(s.setup.plan, s.state, e); invalid != nil {
		s.mailbox.rejectEvent(e, invalid)
		return nil
	}
	return s.commit(ctx, e)
}

// applyResolutions commits the resolutions written while no kernel held the session.
func (s *session) applyResolutions(ctx context.Context) error {
	if s.state.Confined {
		for _, o := range question.Unanswered(s.setup.plan, s.state) {
			if f, exists := question.Read(s.handle.dir, o.ID); exists {
				s.mailbox.refuseResolution(o, f)
			}
		}
		return nil
	}
	answers, faults := s.setup.readResolutions(s.state)
	if len(faults) > 0 { // a file was changed since the preceding check
		return faults
	}
	for _, e := range answers {
		if err := s.commitIfValid(ctx, e); err != nil {
			return err
		}
	}
	return nil
}

// applyStop ends or pauses a session without running effects, if that was requested.
func (s *session) applyStop(ctx context.Context) error {
	for s.state.Stop != nil {
		due := schedule.Decide(s.setup.plan, s.state)
		if len(due) == 0 {
			break
		}
		for _, c := range due {
			if c.Kind != schedule.Record {
				return fmt.Errorf("end session %s: %s is still running", s.handle.name, c.Key)
			}
			if err := s.commit(ctx, *c.Event); err != nil {
				return err
			}
		}
	}
	return nil
}

// refuseEnded refuses to resume an ended session. It first updates the derived files, which a crash after the last event
// may have left out of date.
func (s *session) refuseEnded(o ResumeOptions) error {
	if err := s.writeEnd(true); err != nil {
		s.handle.log.Warn("derived files are out of date", "error", err)
	}
	return finalError(s.state, o)
}

// finish writes the derived files of an ended or paused run and returns its result.
func (s *session) finish() (*inspect.Result, error) {
	result := s.result()
	err := s.writeEnd(false)
	if _, system := failure.SystemHint(err); system { // the journal is complete; these files are derived from it
		s.handle.log.Warn("derived files are out of date; the next resume rebuilds them", "error", err)
		err = nil
	}
	return result, err
}

// writeEnd writes the derived files, and adds an ended loop to the project's list of completed loops. again says
// whether an earlier kernel may have added the loop already.
func (s *session) writeEnd(again bool) error {
	return errors.Join(s.flushViews(), s.recordCompletion(again))
}

func (s *session) recordCompletion(again bool) error {
	if s.state.Mode != "loop" || s.state.EndedAt == nil {
		return nil
	}
	c := statefile.Completion{Session: s.handle.name, Type: s.setup.plan.Nodes[0].Ref, CompletedAt: s.state.EndedAt.UTC().Format(time.RFC3339)}
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
	return statefile.RecordCompletion(context.Background(), s.handle.env.Project, c, again)
}

func (s *session) result() *inspect.Result {
	st := s.state
	result := &inspect.Result{
		Session: s.handle.name, RunID: st.RunID, Status: st.Status, Mode: st.Mode, Reason: cmp.Or(st.Reason, st.PauseReason),
		PauseKind: st.PauseKind, PauseCode: st.PauseCode, Failure: st.Failure, Completed: inspect.CompletedNodes(s.setup.plan, st), Stages: inspect.StageResults(s.setup.plan, st, s.handle.dir.Path()),
		Run: st.Run, Runs: st.Runs, Dir: s.handle.dir.Path(), Deliverable: inspect.NewDeliverable(s.setup.plan, st, s.handle.dir.Path()),
		Usage: st.Usage, Duration: time.Since(s.lease.openedAt), Warnings: s.setup.warnings, Questions: inspect.ListQuestions(s.handle.env.Config.Program, s.setup.plan, st, s.handle.dir),
		Secrets: s.foundSecrets,
	}
	reachedMaximum := st.Mode == "loop" && st.Reason == "max_iterations"
	result.Success = st.Status == state.Completed && !reachedMaximum
	if !st.Status.Final() {
		result.ResumeCommand = inspect.ResumeCommand(s.handle.env.Config.Program, s.handle.name, s.setup.plan, st)
	}
	return result
}

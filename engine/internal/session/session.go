package session

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/dodo-digital/agent-pipelines/engine/inspect"
	"github.com/dodo-digital/agent-pipelines/engine/internal/inbox"
	"github.com/dodo-digital/agent-pipelines/engine/internal/question"
	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/journal"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/kernel/progress"
	"github.com/dodo-digital/agent-pipelines/kernel/schedule"
	"github.com/dodo-digital/agent-pipelines/kernel/state"
	"github.com/dodo-digital/agent-pipelines/kernel/store"
	"github.com/dodo-digital/agent-pipelines/kernel/yamldoc"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
)

// session is an open session with its state, which changes with each event of its journal.
type session struct {
	*setup
	replay       *replay
	state        state.State
	feed         *feed
	foundSecrets inspect.SecretFold             // in files that agents wrote
	applied      func(event.Event, state.State) // called with each applied event
}

// newSession returns a session that is not opened.
func newSession(e *Supervisor, name string) *session {
	s := newSetup(e, name)
	return &session{setup: s, feed: &feed{setup: s, observe: func(inspect.Update) {}}, applied: func(event.Event, state.State) {}}
}

// openExclusive locks and opens a session. It removes stale locks, opens the journal and replays it, and ends
// processes that a dead kernel left. The caller closes the session.
func (e *Supervisor) openExclusive(ctx context.Context, name string, force, create bool) (_ *session, err error) {
	if err := store.CheckSession(name); err != nil {
		return nil, err
	}
	s := newSession(e, name)
	defer func() {
		if err != nil {
			err = s.close(err)
		}
	}()
	if e.active.contains(name) { // force applies to other processes only
		return nil, runsHereError(name)
	}
	if err := s.acquire(force, create); err != nil {
		return nil, err
	}
	if _, err := s.dir.SweepTemps(); err != nil {
		return nil, err
	}
	var p *plan.Plan
	if !create { // a new run has its own plan
		p, _ = inspect.LoadPlan(s.dir) // an error is reported where the plan is needed
	}
	s.replay = s.newReplay(p)
	options := e.env.Config.Journal(e.env.Log)
	options.Redact = s.redactEvent
	if s.journal, s.replay.log, err = journal.Open(ctx, s.dir, options, s.replay.apply); err != nil {
		return nil, err
	}
	s.closers = append(s.closers, s.journal.Close)
	if err := s.endSurvivors(ctx, s.replay.kernels); err != nil {
		return nil, err
	}
	if err := s.startHost(s.feed.pluginEvent); err != nil {
		return nil, err
	}
	s.releaseStale(ctx)
	return s, nil
}

// kernelStartData describes this kernel for the journal.
func (s *session) kernelStartData() event.KernelStartData {
	owner := s.lock.Info()
	return event.KernelStartData{PID: owner.PID, StartTime: owner.StartTime, Version: s.engine.env.Config.Version}
}

// commit appends an event to the journal and applies it.
func (s *session) commit(ctx context.Context, e event.Event) error {
	events, err := s.journal.Append(ctx, e)
	if err != nil {
		return err
	}
	return s.apply(events)
}

// apply applies events just appended. It ignores invalid events of an earlier epoch, which another kernel wrote, as a
// fold does.
func (s *session) apply(events []event.Event) error {
	for _, e := range events {
		next, err := progress.Apply(s.plan, s.state, e)
		if errors.Is(err, progress.ErrInvalidTransition) && e.Epoch < events[len(events)-1].Epoch {
			s.log.Debug("ignored an event of an earlier epoch", "error", err)
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

// fold sets the state to that of the replay, which ignored invalid events such as late deliveries.
func (s *session) fold() error {
	st, err := s.replay.fold.State()
	if err != nil {
		return failure.New(failure.StateCorrupt, "read the journal of session '%s': %w", s.name, err).
			WithHint("use the version that wrote it, or start the session again with %s", failure.Option("force"))
	}
	s.state = st
	return nil
}

// replayAgain reads the journal with the session's recovered plan, up to the last event read before.
func (s *session) replayAgain() (*replay, error) {
	t := s.newReplay(s.plan)
	t.log = s.replay.log
	_, err := journal.Read(s.dir, func(e event.Event) error {
		if e.Seq <= t.log.Last.Seq {
			t.apply(e)
		}
		return nil
	})
	return t, err
}

// onEvent handles an applied event: it updates derived files, inbox and observers.
func (s *session) onEvent(e event.Event, st state.State) {
	if err := s.replay.stateFile.Update(e, st); err != nil {
		s.log.Warn("state.json is out of date", "error", err)
	}
	s.replay.timeline.Apply(e)
	s.acknowledge(e)
	s.applied(e, st)
	s.feed.send(inspect.Update{Event: &e, State: &st})
	if e.Type == event.SecretFound {
		s.foundSecrets.Apply(e)
	}
	for _, info := range s.replay.derived.Apply(s.plan, e, st) {
		s.feed.appendInfo(info)
	}
}

// flushViews clears the inbox and writes the derived files of a session that ends or pauses.
func (s *session) flushViews() error {
	s.clearInbox(s.state.Status)
	if err := s.replay.stateFile.Flush(s.state); err != nil {
		return err
	}
	text, err := json.MarshalIndent(inspect.NewMetrics(s.state, s.replay.timeline), "", "  ")
	if err != nil {
		return fmt.Errorf("render %s: %w", store.MetricsFile, err)
	}
	return s.dir.Replace(store.MetricsFile, append(text, '\n'))
}

// applyMessages commits answers and feedback posted while no kernel held the session, before the run continues. Invalid
// messages are dropped.
func (s *session) applyMessages(ctx context.Context) error {
	for _, m := range s.pollInbox() {
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
	if _, invalid := progress.Apply(s.plan, s.state, e); invalid != nil {
		s.rejectEvent(e, invalid)
		return nil
	}
	return s.commit(ctx, e)
}

// readResolutions returns the answers in the resolution files of the open escalations. If a file has faults, it returns
// only the faults.
func (s *session) readResolutions() ([]event.Event, yamldoc.Diagnostics) {
	var answers []event.Event
	var faults yamldoc.Diagnostics
	for _, o := range question.Unanswered(s.plan, s.state) {
		f, exists := question.Read(s.dir, o.ID)
		if !exists {
			continue
		}
		if len(f.Faults) == 0 {
			answers = append(answers, o.Answer(f.Resolution))
		}
		faults = append(faults, f.Faults...)
	}
	if len(faults) > 0 {
		return nil, faults
	}
	return answers, nil
}

// applyResolutions commits the resolutions written while no kernel held the session.
func (s *session) applyResolutions(ctx context.Context) error {
	answers, faults := s.readResolutions()
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
		due := schedule.Decide(s.plan, s.state)
		if len(due) == 0 {
			break
		}
		for _, c := range due {
			if c.Kind != schedule.Record {
				return fmt.Errorf("end session %s: %s is still running", s.name, c.Key)
			}
			if err := s.commit(ctx, *c.Event); err != nil {
				return err
			}
		}
	}
	return nil
}

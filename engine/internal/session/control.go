package session

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/dodo-digital/agent-pipelines/engine/inspect"
	"github.com/dodo-digital/agent-pipelines/engine/internal/inbox"
	"github.com/dodo-digital/agent-pipelines/engine/internal/question"
	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/progress"
	"github.com/dodo-digital/agent-pipelines/kernel/schedule"
	"github.com/dodo-digital/agent-pipelines/kernel/state"
	"github.com/dodo-digital/agent-pipelines/kernel/yamldoc"
)

// startControl merges control events of this process and of the inbox into one channel. It calls onFenced
// when another kernel has fenced the session: an attempt waiting for its agent writes nothing and would
// not notice. The returned function stops the session's single watcher goroutine and waits for it.
func (s *session) startControl(local <-chan event.Event, onFenced func(error)) (<-chan event.Event, func()) {
	ctx, cancel := context.WithCancel(context.Background())
	merged := make(chan event.Event)
	var wg sync.WaitGroup
	wg.Go(func() { s.controlLoop(ctx, local, merged, onFenced) })
	return merged, func() { cancel(); wg.Wait() }
}

// controlLoop is the goroutine of startControl.
func (s *session) controlLoop(ctx context.Context, local <-chan event.Event, merged chan<- event.Event, onFenced func(error)) {
	forward := func(e event.Event) (ok bool) {
		select {
		case merged <- e:
			return true
		case <-ctx.Done():
			return false
		}
	}
	const fencePoll = time.Second // see awaitFencedOwner
	pollInbox, pollResolutions := s.watchInbox(forward), s.watchResolutions(forward)
	poll, fence := time.NewTicker(inbox.Interval), time.NewTicker(fencePoll)
	defer poll.Stop()
	defer fence.Stop()
	pollInbox(ctx)
	var open []question.Open
	var resolve <-chan time.Time
	for {
		select {
		case <-ctx.Done():
			return
		case e := <-local:
			if !forward(e) {
				s.unread = append(s.unread, e)
			}
		case <-poll.C:
			pollInbox(ctx)
		case open = <-s.escalations:
			resolve = pollResolutions(open)
		case <-resolve:
			resolve = pollResolutions(open)
		case <-fence.C:
			if err := s.journal.CheckEpoch(ctx); err != nil {
				fence.Stop()
				onFenced(err)
			}
		}
	}
}

// watchInbox returns a function that polls the inbox and forwards new messages.
func (s *session) watchInbox(forward func(event.Event) bool) (poll func(context.Context)) {
	watch, broken, handled := inbox.NewWatch(s.dir), false, s.state.Handled
	return func(ctx context.Context) {
		if broken {
			return
		}
		err := watch.Look(ctx, func(m inbox.Message) {
			if m.Action == inbox.Rejected {
				s.log.Warn("ignored an invalid file in the inbox", "name", m.ID, "reason", m.Reason)
				return
			}
			if slices.Contains(handled, m.ID) { // journaled before a crash, but not removed
				s.ack(m.ID)
				return
			}
			forward(m.Event())
		})
		if broken = err != nil && ctx.Err() == nil; broken {
			s.log.Error("cannot read the inbox; pause and abort from other terminals will not work", "error", err)
		}
	}
}

// applyMessages commits answers and feedback posted while no kernel held the session, before the run
// continues. Invalid ones are dropped.
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

// pollInbox returns the messages in the inbox. Unreadable ones are only logged.
func (s *session) pollInbox() []inbox.Message {
	messages, err := inbox.Poll(s.dir)
	if err != nil {
		s.log.Warn("cannot read messages in the inbox", "error", err)
	}
	return messages
}

// clearInbox removes messages that an ended or paused session no longer needs. After an end these are all;
// after a pause the pause requests, which would pause the resumed run again.
func (s *session) clearInbox() {
	for _, m := range s.pollInbox() {
		if s.state.Status.Final() && m.Action != inbox.Rejected || m.Action == inbox.Pause {
			s.log.Warn("control message ignored: session already ended or paused", "id", m.ID, "action", m.Action, "by", m.By)
			s.ack(m.ID)
		}
	}
}

// applyUnread commits control events of this process that arrived after the run stopped listening. The caller
// guarantees that control receives no more.
func (s *session) applyUnread(ctx context.Context, control <-chan event.Event) error {
	for len(control) > 0 {
		s.unread = append(s.unread, <-control)
	}
	for _, e := range s.unread {
		if err := s.commitIfValid(ctx, e); err != nil {
			return err
		}
	}
	return s.applyStop(ctx)
}

// commitIfValid commits a control event while no effect is running, or rejects it.
func (s *session) commitIfValid(ctx context.Context, e event.Event) error {
	if _, invalid := progress.Apply(s.plan, s.state, e); invalid != nil {
		s.rejectEvent(e, invalid)
		return nil
	}
	return s.commit(ctx, e)
}

// acknowledge removes a message from the inbox once it is in the journal.
func (s *session) acknowledge(e event.Event) {
	switch e.Type {
	case event.Control:
		d, _ := event.Decode[event.ControlData](e) // without an id there is no message
		s.ack(d.ID)
	case event.QuestionAnswered:
		d, _ := event.Decode[event.QuestionAnsweredData](e)
		s.ack(d.Control)
	}
}

// rejectEvent drops a control event that is invalid in the current state.
func (s *session) rejectEvent(e event.Event, reason error) {
	s.log.Warn("control message rejected in the current state", "type", e.Type, "reason", reason)
	s.acknowledge(e)
}

func (s *session) ack(id string) {
	if id == "" {
		return
	}
	if err := inbox.Ack(s.dir, id); err != nil {
		s.log.Warn("cannot remove a message from the inbox", "id", id, "error", err)
	}
}

// readResolutions returns the answers to the open escalations that exist as files; if any has faults, only
// the faults.
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
	if len(faults) > 0 { // changed since the preceding check
		return faults
	}
	for _, e := range answers {
		if err := s.commitIfValid(ctx, e); err != nil {
			return err
		}
	}
	return nil
}

// publishEscalations sends the open escalations to the control loop when they change.
func (s *session) publishEscalations(st state.State) {
	open := question.Unanswered(s.plan, st)
	if slices.Equal(open, s.sentEscalations) {
		return
	}
	s.sentEscalations = open
	select {
	case <-s.escalations: // not received yet, and out of date
	default:
	}
	s.escalations <- open
}

// watchResolutions returns a function that polls the resolution files, forwards them, and says when to poll
// again. An invalid file is reported once per content; the run keeps waiting.
func (s *session) watchResolutions(forward func(event.Event) bool) (poll func([]question.Open) <-chan time.Time) {
	files := question.NewWatch(s.dir)
	return func(open []question.Open) <-chan time.Time {
		return files.Look(open, func(o question.Open, f question.ResolutionFile) {
			if len(f.Faults) == 0 {
				forward(o.Answer(f.Resolution))
				return
			}
			for i := range f.Faults {
				f.Faults[i].Severity = yamldoc.SeverityWarning
			}
			faults := s.engine.env.RedactDiagnostics(f.Faults)
			s.log.Debug("invalid resolution; the session keeps waiting", "escalation", o.ID, "faults", faults.Error())
			s.send(inspect.Update{Session: s.name, Warnings: faults, Plan: s.plan, Dir: s.dir.Path()})
		})
	}
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

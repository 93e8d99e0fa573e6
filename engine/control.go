package engine

import (
	"context"
	"path"
	"slices"
	"sync"
	"time"

	"github.com/dodo-digital/agent-pipelines/engine/internal/inbox"
	"github.com/dodo-digital/agent-pipelines/engine/internal/question"
	"github.com/dodo-digital/agent-pipelines/kernel/diagnostic"
	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/kernel/schedule"
	"github.com/dodo-digital/agent-pipelines/kernel/state"
	"github.com/dodo-digital/agent-pipelines/kernel/store"
)

// listen merges what this process and others ask of the session into one channel, and calls overtaken when another kernel
// has taken the session over by force: an attempt that waits for its agent writes nothing that would notice. The returned
// function ends it and waits for its goroutine, the only one that a session has for all it looks for.
func (s *session) listen(local <-chan event.Event, overtaken func(error)) (<-chan event.Event, func()) {
	ctx, cancel := context.WithCancel(context.Background())
	merged := make(chan event.Event)
	var wg sync.WaitGroup
	wg.Go(func() { s.attend(ctx, local, merged, overtaken) })
	return merged, func() { cancel(); wg.Wait() }
}

// attend is the goroutine of listen.
func (s *session) attend(ctx context.Context, local <-chan event.Event, merged chan<- event.Event, overtaken func(error)) {
	pass := func(e event.Event) (passed bool) {
		select {
		case merged <- e:
			return true
		case <-ctx.Done():
			return false
		}
	}
	messages, answers := s.messages(pass), s.answers(pass)
	look, check := time.NewTicker(inbox.Interval), time.NewTicker(overtakenPoll)
	defer look.Stop()
	defer check.Stop()
	messages(ctx)
	var open []question.Open
	var resolve <-chan time.Time
	for {
		select {
		case <-ctx.Done():
			return
		case e := <-local:
			if !pass(e) {
				s.left = append(s.left, e)
			}
		case <-look.C:
			messages(ctx)
		case open = <-s.escalations:
			resolve = answers(open)
		case <-resolve:
			resolve = answers(open)
		case <-check.C:
			if err := s.journal.Check(ctx); err != nil {
				check.Stop()
				overtaken(err)
			}
		}
	}
}

// messages returns what looks into the inbox and passes on what is new there.
func (s *session) messages(pass func(event.Event) bool) (look func(context.Context)) {
	box, deaf, handled := inbox.NewWatch(s.dir), false, s.state.Handled
	return func(ctx context.Context) {
		if deaf {
			return
		}
		err := box.Look(ctx, func(m inbox.Message) {
			if m.Action == inbox.Rejected {
				s.log.Warn("a file in the inbox is no message", "name", m.ID, "reason", m.Reason)
				return
			}
			if slices.Contains(handled, m.ID) { // journaled before a crash, and not removed
				s.ack(m.ID)
				return
			}
			pass(requested(m))
		})
		if deaf = err != nil && ctx.Err() == nil; deaf {
			s.log.Error("the inbox cannot be read: pause and abort from other terminals do not arrive", "error", err)
		}
	}
}

// requested is what a message of the inbox asks for, as the journal has it. A text too long for a line was not
// left there by us, and only its beginning counts.
func requested(m inbox.Message) event.Event {
	by, text := event.Truncate(m.By, event.MaxName), event.Truncate(m.Text, event.MaxText)
	if m.Action == inbox.Answer {
		return event.New(event.QuestionAnswered, nil, "", event.QuestionAnsweredData{
			ID: m.Question, By: by, Answer: m.Answer, Text: text, Digest: m.Digest, Control: m.ID,
		})
	}
	return event.New(event.Control, nil, "", event.ControlData{
		ID: m.ID, Action: string(m.Action), By: by, Reason: event.Truncate(m.Reason, event.MaxText), Text: text,
	})
}

// takeMessages takes up the answers and the feedback that were left while nobody held the session: what they are
// about has to be known before the run goes on. One that does not fit is dropped.
func (s *session) takeMessages(ctx context.Context) error {
	messages, err := inbox.Poll(s.dir)
	if err != nil {
		s.log.Warn("messages in the inbox cannot be read yet", "error", err)
	}
	for _, m := range messages {
		if m.Action != inbox.Answer && m.Action != inbox.Feedback {
			continue
		}
		if err := s.take(ctx, requested(m)); err != nil {
			return err
		}
	}
	return nil
}

// clearInbox removes the messages that a session which rests does not need any more: all where it has ended, and where it is
// paused those that asked for it, which would pause it again when it goes on.
func (s *session) clearInbox() {
	messages, err := inbox.Poll(s.dir)
	if err != nil {
		s.log.Warn("messages in the inbox cannot be read", "error", err)
	}
	for _, m := range messages {
		if s.state.Status.Final() && m.Action != inbox.Rejected || m.Action == inbox.Pause {
			s.log.Warn("a message came too late", "id", m.ID, "action", m.Action, "by", m.By)
			s.ack(m.ID)
		}
	}
}

// takeLeft takes up what was said in this process when the run did not listen any more, because it had just paused or
// ended. Nothing is added to said after that.
func (s *session) takeLeft(ctx context.Context, said <-chan event.Event) error {
	for len(said) > 0 {
		s.left = append(s.left, <-said)
	}
	for _, e := range s.left {
		if err := s.take(ctx, e); err != nil {
			return err
		}
	}
	return s.stopAsAsked(ctx)
}

// take commits what somebody asked for while nothing is under way, if it fits.
func (s *session) take(ctx context.Context, e event.Event) error {
	if _, misfit := schedule.Apply(s.plan, s.state, e); misfit != nil {
		s.refused(e, misfit)
		return nil
	}
	return s.commit(ctx, e)
}

// overtakenPoll is how often a running kernel looks whether it still holds its session.
const overtakenPoll = time.Second

// overtakenWait is how long a kernel that takes a session by force waits for the older one to let go: it
// notices within overtakenPoll and then cancels its agent and stops its plugins.
const overtakenWait = 15 * time.Second

// acknowledge removes a message of the inbox once it is in the journal.
func (s *session) acknowledge(e event.Event) {
	switch e.Type {
	case event.Control:
		if d, err := event.Decode[event.ControlData](e); err == nil {
			s.ack(d.ID)
		}
	case event.QuestionAnswered:
		if d, err := event.Decode[event.QuestionAnsweredData](e); err == nil {
			s.ack(d.Control)
		}
	}
}

// refused drops a message that does not fit.
func (s *session) refused(e event.Event, why error) {
	s.log.Warn("what somebody asked for does not fit", "type", e.Type, "reason", why)
	s.acknowledge(e)
}

func (s *session) ack(id string) {
	if id == "" {
		return
	}
	if err := inbox.Ack(s.dir, id); err != nil {
		s.log.Warn("message not removed from the inbox", "id", id, "error", err)
	}
}

// openEscalations are those of a state that nobody has answered, in the order of their questions' ids.
func openEscalations(p *plan.Plan, st state.State) []question.Open {
	var open []question.Open
	for _, id := range st.Awaited() {
		q := st.Questions[id]
		if q.Escalation == "" {
			continue
		}
		poll := float64(plan.DefaultEscalationPoll)
		_, at, _, _ := q.Key.Parse()
		if e := p.PolicyOf(p.Find(at.Node)).Escalation; e != nil && e.Poll > 0 {
			poll = e.Poll
		}
		open = append(open, question.Open{ID: q.Escalation, Question: id, Digest: q.Digest, Poll: time.Duration(poll * float64(time.Second))})
	}
	return open
}

// resolutions are the answers that lie there for the open escalations; with faults there are none.
func (s *session) resolutions() ([]event.Event, Diagnostics) {
	var answers []event.Event
	var faults Diagnostics
	for _, o := range openEscalations(s.plan, s.state) {
		f, there := question.Read(s.dir, o.ID)
		if !there {
			continue
		}
		if len(f.Faults) == 0 {
			answers = append(answers, resolved(o, f.Resolution))
		}
		faults = append(faults, f.Faults...)
	}
	if len(faults) > 0 {
		return nil, faults
	}
	return answers, nil
}

// resolved is the answer that a resolution gives.
func resolved(o question.Open, r question.Resolution) event.Event {
	d := event.QuestionAnsweredData{ID: o.Question, Digest: o.Digest, Answer: event.AnswerApprove, Text: r.Context, By: path.Base(store.ResolutionFile(o.ID))}
	if r.Abort {
		d.Answer, d.Text = event.AnswerReject, ""
	}
	return event.New(event.QuestionAnswered, nil, "", d)
}

// takeResolutions takes up the resolutions that were written while nobody held the session.
func (s *session) takeResolutions(ctx context.Context) error {
	answers, faults := s.resolutions()
	if len(faults) > 0 { // changed since they were looked at
		return faults
	}
	for _, e := range answers {
		if err := s.take(ctx, e); err != nil {
			return err
		}
	}
	return nil
}

// followEscalations tells whoever looks for resolutions which escalations are open now.
func (s *session) followEscalations(st state.State) {
	open := openEscalations(s.plan, st)
	if slices.Equal(open, s.escalated) {
		return
	}
	s.escalated = open
	select {
	case <-s.escalations: // nobody has heard of the last ones
	default:
	}
	s.escalations <- open
}

// answers returns what looks for the resolutions that are written while the session is held, passes them on, and says when to
// look again. What is written and is no answer is told, once for each content: the run waits on.
func (s *session) answers(pass func(event.Event) bool) (look func([]question.Open) <-chan time.Time) {
	files := question.NewWatch(s.dir)
	return func(open []question.Open) <-chan time.Time {
		return files.Look(open, func(o question.Open, f question.Found) {
			if len(f.Faults) == 0 {
				pass(resolved(o, f.Resolution))
				return
			}
			for i := range f.Faults {
				f.Faults[i].Severity = diagnostic.SeverityWarning
			}
			faults := s.engine.clean(f.Faults)
			s.log.Debug("a resolution is not understood; the session waits on", "escalation", o.ID, "faults", faults.Error())
			s.send(Update{Session: s.name, Warnings: faults, Plan: s.plan, Dir: s.dir.Path()})
		})
	}
}

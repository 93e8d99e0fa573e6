package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/dodo-digital/agent-pipelines/engine/internal/inbox"
	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/kernel/schedule"
	"github.com/dodo-digital/agent-pipelines/kernel/store"
)

// AnswerOptions are an answer to a question.
type AnswerOptions struct {
	Session string
	// Question is its id; "" for the one that is open, if there is one only.
	Question string
	// Answer is one of the question's options: approve or reject, of a tool call skip, too.
	Answer string
	// Text goes with it: of an approval into the next prompt, of a rejection as feedback, where the question takes
	// it.
	Text string
	// Digest is that of the question as it was shown; "" for that of now.
	Digest string
	By     string
}

// Answer answers a question of a session. Whoever holds the session goes on with it; if nobody does, it is journaled
// here, and [Engine.Resume] goes on. A rejection without a text ends the session. It fails with [ErrNoQuestion] where
// nothing like it is open, with [ErrTerminal] if the session has ended, and with [ErrOptions] for an answer that the
// question does not take.
func (e *Engine) Answer(ctx context.Context, o AnswerOptions) error {
	q, err := e.openQuestion(o)
	if err != nil {
		return err
	}
	d := event.QuestionAnsweredData{
		ID: q.ID, By: event.Truncate(o.By, event.MaxName), Answer: o.Answer, Text: o.Text, Digest: o.Digest, Control: newID(),
	}
	if d.Digest == "" {
		d.Digest = q.Digest
	}
	ev := event.New(event.QuestionAnswered, nil, "", d)
	if e.control(o.Session, ev) {
		return nil
	}
	return e.tell(ctx, o.Session, inbox.Message{
		Action: inbox.Answer, By: d.By, Question: d.ID, Answer: d.Answer, Digest: d.Digest, Text: d.Text,
	}, ev)
}

// openQuestion is the question that is answered, if the answer is one that it takes.
func (e *Engine) openQuestion(o AnswerOptions) (Question, error) {
	all, err := e.Questions(o.Session)
	if err != nil {
		return Question{}, err
	}
	var open []Question
	for _, q := range all {
		if q.Answer == nil && (o.Question == "" || q.ID == o.Question) {
			open = append(open, q)
		}
	}
	switch {
	case len(open) > 1:
		return Question{}, refused(ErrOptions, "session '%s' has %d questions open", o.Session, len(open)).
			WithHint("name one of them: `agent-pipelines questions list %s`", o.Session)
	case len(open) == 0:
		return Question{}, e.notAsked(o, all)
	}
	q := open[0]
	switch {
	case !slices.Contains(q.Options, o.Answer):
		return q, refused(ErrOptions, "question %s of session '%s' does not take %q", q.ID, o.Session, o.Answer).WithHint("it takes %v", q.Options)
	case o.Answer == event.AnswerReject && o.Text != "" && !q.AcceptFeedback:
		return q, refused(ErrOptions, "question %s of session '%s' takes no feedback", q.ID, o.Session).
			WithHint("reject it without a text, which ends the session, or approve it")
	case o.Answer == event.AnswerApprove && o.Text != "" && q.Kind == event.QuestionTool:
		return q, refused(ErrOptions, "question %s of session '%s' takes no text with an approval: the call is made as it is", q.ID, o.Session).
			WithHint("approve it without a text; what is said with a rejection is told to the agent; `agent-pipelines feedback %s TEXT` is for the next prompts", o.Session)
	case o.Text != "" && strings.TrimSpace(o.Text) == "":
		return q, refused(ErrOptions, "the text of the answer is empty")
	case len(o.Text) > event.MaxText:
		return q, tooLong(o.Text)
	case o.Digest != "" && o.Digest != q.Digest:
		return q, refused(ErrNoQuestion, "question %s of session '%s' has changed since it was shown", q.ID, o.Session).
			WithHint("look at it again: `agent-pipelines questions show %s %s`", o.Session, q.ID)
	}
	return q, nil
}

// notAsked says why there is nothing to answer.
func (e *Engine) notAsked(o AnswerOptions, all []Question) error {
	st, err := e.Status(o.Session)
	if err != nil {
		return err
	}
	for _, q := range all { // all of them are answered, or have another id
		if o.Question == "" || q.ID == o.Question {
			return answeredAlready(o.Session, q.ID, q.Answer.Word, q.Answer.By)
		}
	}
	switch {
	case st.Status.Final():
		return refused(ErrTerminal, "session '%s' %s", o.Session, ended(st.Status)).WithHint("nothing is left to be answered")
	case o.Question != "":
		return refused(ErrNoQuestion, "session '%s' has no question %s open", o.Session, o.Question).
			WithHint("`agent-pipelines questions list %s` shows what it asks", o.Session)
	default:
		return refused(ErrNoQuestion, "session '%s' asks nothing", o.Session).
			WithHint("`agent-pipelines status %s` says how it stands", o.Session)
	}
}

func answeredAlready(session, question, word, by string) error {
	if by != "" {
		by = " by " + by
	}
	return refused(ErrNoQuestion, "question %s of session '%s' is answered already: %s%s", question, session, word, by).
		WithHint("`agent-pipelines resume %s` goes on with it, unless a process holds the session", session)
}

func tooLong(text string) error {
	return refused(ErrOptions, "the text has %d bytes, at most %d are taken", len(text), event.MaxText).
		WithHint("put it into a file of the project and name the file")
}

// Feedback gives a text to the agent's next prompt, in whatever stage that is. Whoever holds the session journals it; if
// nobody does, it is journaled here. It fails with [ErrTerminal] if the session has ended.
func (e *Engine) Feedback(ctx context.Context, session, text, by string) error {
	s, err := e.Status(session)
	switch {
	case err != nil:
		return err
	case s.Status.Final():
		return refused(ErrTerminal, "session '%s' %s", session, ended(s.Status)).WithHint("no prompt will follow")
	case s.Status == "" && s.Damage == "":
		return neverBegan(session)
	case strings.TrimSpace(text) == "":
		return refused(ErrOptions, "the feedback is empty")
	case len(text) > event.MaxText:
		return tooLong(text)
	}
	by = event.Truncate(by, event.MaxName)
	ev := event.New(event.Control, nil, "", event.ControlData{ID: newID(), Action: string(inbox.Feedback), By: by, Text: text})
	if e.control(session, ev) {
		return nil
	}
	return e.tell(ctx, session, inbox.Message{Action: inbox.Feedback, By: by, Text: text}, ev)
}

// tell leaves a message for whoever holds the session, or journals the event where nobody does.
func (e *Engine) tell(ctx context.Context, session string, m inbox.Message, ev event.Event) error {
	for {
		s, err := e.Status(session)
		if err != nil {
			return err
		}
		if s.Held {
			return e.post(session, m)
		}
		err = e.record(ctx, session, ev)
		if !errors.Is(err, ErrLocked) { // somebody took it a moment ago
			return err
		}
	}
}

// post leaves a message for whoever holds the session. One that comes too late is taken back, and the error says so.
func (e *Engine) post(session string, m inbox.Message) error {
	dir, err := e.open(session)
	if err != nil {
		return err
	}
	defer dir.Close()
	// It lies in the session's directory until the kernel that holds the session takes it up.
	m.Reason, m.Text = e.redactor.Text(m.Reason), e.redactor.Agent().Text(m.Text)
	if m.ID, err = inbox.Post(dir, m); err != nil {
		return err
	}
	if late := e.late(dir, m); late != nil {
		return errors.Join(late, inbox.Ack(dir, m.ID))
	}
	return nil
}

// late is why a message that was just left is not taken up any more, nil: it is. A session that has ended since does not look
// for it: a kernel clears its inbox after its last event and before it gives the session back. Of two answers to
// one question that were left at the same time, the first one counts.
func (e *Engine) late(dir *store.Dir, m inbox.Message) error {
	k, err := e.known(dir, func(*plan.Plan) func(event.Event) { return func(event.Event) {} })
	switch {
	case err != nil || slices.Contains(k.state.Handled, m.ID):
		return nil //nolint:nilerr // whoever holds the session reads it better
	case k.state.Status.Final():
		return refused(ErrTerminal, "session '%s' %s", dir.Session(), ended(k.state.Status)).WithHint("it did so a moment ago, and takes nothing more")
	case m.Action != inbox.Answer:
		return nil
	}
	if first, is := inbox.Before(dir, m); is {
		return answeredAlready(dir.Session(), m.Question, first.Answer, first.By)
	}
	if _, misfit := schedule.Apply(k.plan, k.state, requested(m)); misfit != nil {
		return refused(ErrNoQuestion, "session '%s' does not take this any more: %v", dir.Session(), misfit).
			WithHint("`agent-pipelines status %s` says how it stands", dir.Session())
	}
	return nil
}

// record journals an event of a session that nobody holds, and what follows from it without any work.
func (e *Engine) record(ctx context.Context, name string, ev event.Event) error {
	s, err := e.hold(ctx, name, false, false)
	if err != nil {
		return err
	}
	return s.close(s.record(ctx, ev))
}

func (s *session) record(ctx context.Context, ev event.Event) error {
	from, err := s.recall(ctx)
	if err != nil {
		return err
	}
	if s.state.Status.Final() {
		return terminal(s.name, s.state.Status)
	}
	if err := s.takeHold(ctx, from); err != nil {
		return err
	}
	if _, misfit := schedule.Apply(s.plan, s.state, ev); misfit != nil { // such as an answer to an attempt that has been cut off
		return refused(ErrNoQuestion, "session '%s' does not take this any more: %v", s.name, misfit).
			WithHint("`agent-pipelines status %s` says how it stands", s.name)
	}
	if err := s.commit(ctx, ev); err != nil {
		return err
	}
	if err := s.stopAsAsked(ctx); err != nil {
		return err
	}
	return s.rest()
}

// stopAsAsked ends or pauses a session in which nothing is under way, if that was asked for.
func (s *session) stopAsAsked(ctx context.Context) error {
	for s.state.Stop != nil {
		due := schedule.Decide(s.plan, s.state)
		if len(due) == 0 {
			break
		}
		for _, c := range due {
			if c.Kind != schedule.Record {
				return fmt.Errorf("end %s: %s is under way", s.name, c.Key)
			}
			if err := s.commit(ctx, *c.Event); err != nil {
				return err
			}
		}
	}
	return nil
}

// PauseSession asks whoever holds a session to pause it after the running iteration. It fails with
// [ErrTerminal] if the session has ended, and with [ErrNothingToResume] if nobody works on it.
func (e *Engine) PauseSession(_ context.Context, session, reason, by string) error {
	s, err := e.Status(session)
	if err != nil {
		return err
	}
	if !s.Held {
		return idle(session, s)
	}
	return e.post(session, inbox.Message{Action: inbox.Pause, By: by, Reason: reason})
}

// AbortSession ends a session for good: whoever holds it cancels the running iteration; if nobody
// does, the end is journaled here. It fails with [ErrTerminal] if the session has ended already, and
// with [ErrNothingToResume] if it never began.
func (e *Engine) AbortSession(ctx context.Context, session, reason, by string) error {
	s, err := e.Status(session)
	if err != nil {
		return err
	}
	switch {
	case s.Status.Final():
		return refused(ErrTerminal, "session '%s' %s", session, ended(s.Status)).WithHint("there is nothing left to abort")
	case s.Held:
		return e.post(session, inbox.Message{Action: inbox.Abort, By: by, Reason: reason})
	case s.Status == "" && s.Damage == "":
		return neverBegan(session)
	}
	return e.record(ctx, session, event.New(event.Control, nil, "", event.ControlData{
		ID: newID(), Action: "abort", Reason: event.Truncate(reason, event.MaxText), By: event.Truncate(by, event.MaxName),
	}))
}

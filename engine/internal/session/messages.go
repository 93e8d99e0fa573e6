package session

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/dodo-digital/agent-pipelines/engine/inspect"

	"github.com/dodo-digital/agent-pipelines/engine/internal/inbox"
	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/kernel/progress"
	"github.com/dodo-digital/agent-pipelines/kernel/schedule"
	"github.com/dodo-digital/agent-pipelines/kernel/store"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
)

// AnswerOptions is an answer to a question.
type AnswerOptions struct {
	Session string
	// Question is its id; "" selects the only open one.
	Question string
	// Answer is one of the question's options: approve or reject; for a tool call also skip.
	Answer string
	// Text is added to the next prompt by an approval; a rejection sends it as feedback, if the question
	// accepts it.
	Text string
	// Digest is the digest of the question as shown; "" for the current one.
	Digest string
	By     string
}

// Answer answers a question of a session. A kernel that holds the session applies the answer; otherwise it is
// journaled here for [Engine.Resume]. A rejection without a text ends the session.
//
// The error wraps [ErrNoQuestion] if no such question is open, [ErrTerminal] if the session has ended, and
// [ErrOptions] if the question does not accept the answer.
func (e *Supervisor) Answer(ctx context.Context, o AnswerOptions) error {
	q, err := e.selectQuestion(o)
	if err != nil {
		return err
	}
	return e.sendOrDeliver(ctx, o.Session, inbox.Message{
		Action: inbox.Answer, By: o.By, Question: q.ID, Answer: o.Answer, Digest: q.Digest, Text: o.Text,
	})
}

// selectQuestion returns the question to answer, after checking the answer.
func (e *Supervisor) selectQuestion(o AnswerOptions) (inspect.Question, error) {
	all, err := e.Questions(o.Session)
	if err != nil {
		return inspect.Question{}, err
	}
	var open []inspect.Question
	for _, q := range all {
		if q.Answer == nil && (o.Question == "" || q.ID == o.Question) {
			open = append(open, q)
		}
	}
	switch {
	case len(open) > 1:
		return inspect.Question{}, sessionError(ErrOptions, "session '%s' has %d questions open", o.Session, len(open)).
			WithHint("name one of them: `%s`", failure.Next("questions", "list", o.Session))
	case len(open) == 0:
		return inspect.Question{}, e.noQuestionError(o, all)
	}
	q := open[0]
	switch {
	case !slices.Contains(q.Options, o.Answer):
		return q, sessionError(ErrOptions, "question %s of session '%s' does not accept %q", q.ID, o.Session, o.Answer).WithHint("answer with one of %v", q.Options)
	case o.Answer == event.AnswerReject && o.Text != "" && !q.AcceptFeedback:
		return q, sessionError(ErrOptions, "question %s of session '%s' accepts no feedback", q.ID, o.Session).
			WithHint("reject it without a text, which ends the session, or approve it")
	case o.Answer == event.AnswerApprove && o.Text != "" && q.Kind == event.QuestionTool:
		return q, sessionError(ErrOptions, "question %s of session '%s' accepts no text with an approval: the call runs unchanged", q.ID, o.Session).
			WithHint("approve it without a text, reject it with a text for the agent, or run `%s` for the next prompts", failure.Next("feedback", o.Session, "TEXT"))
	case o.Text != "" && strings.TrimSpace(o.Text) == "":
		return q, sessionError(ErrOptions, "the text of the answer is empty")
	case len(o.Text) > event.MaxText:
		return q, textTooLongError(o.Text)
	case o.Digest != "" && o.Digest != q.Digest:
		return q, sessionError(ErrNoQuestion, "question %s of session '%s' has changed since it was shown", q.ID, o.Session).
			WithHint("show it again: `%s`", failure.Next("questions", "show", o.Session, q.ID))
	}
	return q, nil
}

// noQuestionError says why no question can be answered.
func (e *Supervisor) noQuestionError(o AnswerOptions, all []inspect.Question) error {
	st, err := e.Status(o.Session)
	if err != nil {
		return err
	}
	for _, q := range all { // each of them is answered or has another id
		if o.Question == "" || q.ID == o.Question {
			return alreadyAnsweredError(o.Session, q.ID, q.Answer.Option, q.Answer.By)
		}
	}
	switch {
	case st.Status.Final():
		return sessionError(ErrTerminal, "session '%s' %s", o.Session, endedText(st.Status)).WithHint("nothing is left to be answered")
	case o.Question != "":
		return sessionError(ErrNoQuestion, "session '%s' has no question %s open", o.Session, o.Question).
			WithHint("list its questions with `%s`", failure.Next("questions", "list", o.Session))
	default:
		return sessionError(ErrNoQuestion, "session '%s' has no open questions", o.Session).
			WithHint("check its state with `%s`", failure.Next("status", o.Session))
	}
}

func alreadyAnsweredError(session, question, word, by string) error {
	if by != "" {
		by = " by " + by
	}
	return sessionError(ErrNoQuestion, "question %s of session '%s' is already answered: %s%s", question, session, word, by).
		WithHint("continue with `%s`, unless a process holds the session", failure.Next("resume", session))
}

func textTooLongError(text string) error {
	return sessionError(ErrOptions, "the text has %d bytes: want at most %d", len(text), event.MaxText).
		WithHint("put it into a file of the project and name the file")
}

// Feedback adds a text to the agent's next prompt, in any stage. A kernel that holds the session journals it;
// otherwise it is journaled here. The error wraps [ErrTerminal] if the session has ended.
func (e *Supervisor) Feedback(ctx context.Context, session, text, by string) error {
	s, err := e.Status(session)
	switch {
	case err != nil:
		return err
	case s.Status.Final():
		return sessionError(ErrTerminal, "session '%s' %s", session, endedText(s.Status)).WithHint("no prompt will follow")
	case s.Status == "" && s.Damage == "":
		return inspect.NeverBeganError(session)
	case strings.TrimSpace(text) == "":
		return sessionError(ErrOptions, "the feedback is empty")
	case len(text) > event.MaxText:
		return textTooLongError(text)
	}
	return e.sendOrDeliver(ctx, session, inbox.Message{Action: inbox.Feedback, By: by, Text: text})
}

// sendOrDeliver passes a message to a session of this engine, or delivers it.
func (e *Supervisor) sendOrDeliver(ctx context.Context, session string, m inbox.Message) error {
	m.ID, m.By = newID(), event.Truncate(m.By, event.MaxName)
	if e.active.send(session, messageEvent(m)) {
		return nil
	}
	return e.deliver(ctx, session, m)
}

// deliver posts a message to the kernel that holds the session, or journals its event if none does.
func (e *Supervisor) deliver(ctx context.Context, session string, m inbox.Message) error {
	for {
		s, err := e.Status(session)
		if err != nil {
			return err
		}
		if s.Locked {
			return e.postMessage(session, m)
		}
		err = e.record(ctx, session, messageEvent(m))
		if !errors.Is(err, ErrLocked) { // another kernel acquired the session meanwhile
			return err
		}
	}
}

// postMessage posts a message to the kernel that holds the session. If the kernel no longer reads it, the
// message is removed and the error says so.
func (e *Supervisor) postMessage(session string, m inbox.Message) error {
	dir, err := e.Open(session)
	if err != nil {
		return err
	}
	defer dir.Close()
	// The message stays in the session's directory until the kernel has read it.
	m.Reason, m.Text = e.env.Redactor.Text(m.Reason), e.env.Redactor.ForAgent().Text(m.Text)
	if m.ID, err = inbox.Post(dir, m); err != nil {
		return err
	}
	if undelivered := e.checkDelivered(dir, m); undelivered != nil {
		return errors.Join(undelivered, inbox.Ack(dir, m.ID))
	}
	return nil
}

// checkDelivered returns an error if a message posted just now will not be applied. An ended session does not
// read it, because a kernel clears its inbox after its last event and before it releases the lock. Of two
// concurrent answers to one question, the first counts.
func (e *Supervisor) checkDelivered(dir *store.Dir, m inbox.Message) error {
	view, err := e.LoadView(dir, func(*plan.Plan) func(event.Event) { return func(event.Event) {} })
	switch {
	case err != nil || slices.Contains(view.State.Handled, m.ID):
		return nil //nolint:nilerr // the kernel that holds the session decides
	case view.State.Status.Final():
		return sessionError(ErrTerminal, "session '%s' %s", dir.Session(), endedText(view.State.Status)).WithHint("it ended a moment ago and accepts nothing more")
	case m.Action != inbox.Answer:
		return nil
	}
	if first, found := inbox.Before(dir, m); found {
		return alreadyAnsweredError(dir.Session(), m.Question, first.Answer, first.By)
	}
	if _, invalid := progress.Apply(view.Plan, view.State, messageEvent(m)); invalid != nil {
		return sessionError(ErrNoQuestion, "session '%s' no longer accepts this: %v", dir.Session(), invalid).
			WithHint("check its state with `%s`", failure.Next("status", dir.Session()))
	}
	return nil
}

// record journals an event of a session that no kernel holds, and its immediate consequences.
func (e *Supervisor) record(ctx context.Context, name string, ev event.Event) error {
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
		return sessionError(ErrNoQuestion, "session '%s' no longer accepts this: %v", s.name, invalid).
			WithHint("check its state with `%s`", failure.Next("status", s.name))
	}
	if err := s.commit(ctx, ev); err != nil {
		return err
	}
	if err := s.applyStop(ctx); err != nil {
		return err
	}
	return s.flushViews()
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

// PauseSession asks the kernel that holds a session to pause it after the current iteration. The error wraps
// [ErrTerminal] if the session has ended, and [ErrNothingToResume] if no kernel holds it.
func (e *Supervisor) PauseSession(_ context.Context, session, reason, by string) error {
	s, err := e.Status(session)
	if err != nil {
		return err
	}
	if !s.Locked {
		return notRunningError(session, s)
	}
	return e.postMessage(session, inbox.Message{Action: inbox.Pause, By: by, Reason: reason})
}

// AbortSession ends a session for good. A kernel that holds it cancels the current iteration; otherwise the
// end is journaled here. The error wraps [ErrTerminal] if the session has ended, and [ErrNothingToResume] if
// it never began.
func (e *Supervisor) AbortSession(ctx context.Context, session, reason, by string) error {
	s, err := e.Status(session)
	if err != nil {
		return err
	}
	switch {
	case s.Status.Final():
		return sessionError(ErrTerminal, "session '%s' %s", session, endedText(s.Status)).WithHint("there is nothing left to abort")
	case !s.Locked && s.Status == "" && s.Damage == "":
		return inspect.NeverBeganError(session)
	}
	return e.deliver(ctx, session, inbox.Message{ID: newID(), Action: inbox.Abort, By: by, Reason: reason})
}

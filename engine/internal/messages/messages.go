package messages

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"

	"github.com/dodo-digital/agent-pipelines/engine/inspect"
	"github.com/dodo-digital/agent-pipelines/engine/internal/environment"
	"github.com/dodo-digital/agent-pipelines/engine/internal/inbox"
	"github.com/dodo-digital/agent-pipelines/engine/internal/session"
	"github.com/dodo-digital/agent-pipelines/engine/internal/signing"
	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/kernel/progress"
	"github.com/dodo-digital/agent-pipelines/kernel/state"
	"github.com/dodo-digital/agent-pipelines/kernel/store"
)

// Sender sends messages to the sessions of a project. It is safe for concurrent use.
type Sender struct {
	sessions *session.Supervisor
	env      *environment.Environment
}

// NewSender returns the sender for the sessions of a supervisor; env is the supervisor's environment. Texts are
// redacted before they are stored.
func NewSender(sessions *session.Supervisor, env *environment.Environment) Sender {
	return Sender{sessions, env}
}

// AnswerOptions is an answer to a question.
type AnswerOptions struct {
	Session string
	// Question is the question's id; "" selects the only open question.
	Question string
	// Answer is one of the question's options: approve or reject; for a tool call also skip.
	Answer string
	// Text is added to the next prompt by an approval; the approval of a tool call accepts no text. A rejection sends
	// Text as feedback, if the question accepts feedback.
	Text string
	// Digest is the digest of the question as shown; "" for the current digest.
	Digest string
	By     string // the author of the answer; may be empty
}

// Answer answers a question of a session. A kernel that holds the session applies the answer; otherwise the answer is
// journaled here for [session.Supervisor.Resume]. A rejection without a text ends the session, except for a tool call.
//
// The error wraps [session.ErrNoQuestion] if no such question is open, and [session.ErrTerminal] if the session has
// ended. It wraps [session.ErrOptions] if the question does not accept the answer.
func (s Sender) Answer(ctx context.Context, o AnswerOptions) error {
	q, err := s.selectQuestion(o)
	if err != nil {
		return err
	}
	return s.sendOrDeliver(ctx, o.Session, inbox.Message{
		Action: inbox.Answer, By: o.By, Question: q.ID, Answer: o.Answer, Digest: q.Digest, Text: o.Text,
	})
}

// selectQuestion returns the question to answer, after checking the answer.
func (s Sender) selectQuestion(o AnswerOptions) (inspect.Question, error) {
	all, err := s.sessions.Questions(o.Session)
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
		return inspect.Question{}, inspect.NewError(session.ErrOptions, "session '%s' has %d questions open", o.Session, len(open)).
			WithHint("name one of them: `%s`", failure.Next("questions", "list", o.Session))
	case len(open) == 0:
		return inspect.Question{}, s.noQuestionError(o, all)
	}
	q := open[0]
	switch {
	case !slices.Contains(q.Options, o.Answer):
		return q, inspect.NewError(session.ErrOptions, "question %s of session '%s' does not accept %q", q.ID, o.Session, o.Answer).WithHint("answer with one of %v", q.Options)
	case o.Answer == event.AnswerReject && o.Text != "" && !q.AcceptFeedback:
		return q, inspect.NewError(session.ErrOptions, "question %s of session '%s' accepts no feedback", q.ID, o.Session).
			WithHint("reject it without a text, which ends the session, or approve it")
	case o.Answer == event.AnswerApprove && o.Text != "" && q.Kind == event.QuestionTool:
		return q, inspect.NewError(session.ErrOptions, "question %s of session '%s' accepts no text with an approval: the call runs unchanged", q.ID, o.Session).
			WithHint("approve it without a text, reject it with a text for the agent, or run `%s` for the next prompts", failure.Next("feedback", o.Session, "TEXT"))
	case o.Text != "" && strings.TrimSpace(o.Text) == "":
		return q, inspect.NewError(session.ErrOptions, "the text of the answer is empty")
	case len(o.Text) > event.MaxText:
		return q, textTooLongError(o.Text)
	case o.Digest != "" && o.Digest != q.Digest:
		return q, inspect.NewError(session.ErrNoQuestion, "question %s of session '%s' has changed since it was shown", q.ID, o.Session).
			WithHint("show it again: `%s`", failure.Next("questions", "show", o.Session, q.ID))
	}
	return q, nil
}

// noQuestionError says why no question can be answered.
func (s Sender) noQuestionError(o AnswerOptions, all []inspect.Question) error {
	st, err := s.sessions.Status(o.Session)
	if err != nil {
		return err
	}
	for _, q := range all { // each question is answered or has another id
		if o.Question == "" || q.ID == o.Question {
			return alreadyAnsweredError(o.Session, q.ID, q.Answer.Option, q.Answer.By)
		}
	}
	switch {
	case st.Status.Final():
		return inspect.NewError(session.ErrTerminal, "session '%s' %s", o.Session, session.EndedText(st.Status)).WithHint("nothing is left to be answered")
	case o.Question != "":
		return inspect.NewError(session.ErrNoQuestion, "session '%s' has no question %s open", o.Session, o.Question).
			WithHint("list its questions with `%s`", failure.Next("questions", "list", o.Session))
	default:
		return inspect.NewError(session.ErrNoQuestion, "session '%s' has no open questions", o.Session).
			WithHint("check its state with `%s`", failure.Next("status", o.Session))
	}
}

func alreadyAnsweredError(name, question, word, by string) error {
	if by != "" {
		by = " by " + by
	}
	return inspect.NewError(session.ErrNoQuestion, "question %s of session '%s' is already answered: %s%s", question, name, word, by).
		WithHint("continue with `%s`, unless a process holds the session", failure.Next("resume", name))
}

func textTooLongError(text string) error {
	return inspect.NewError(session.ErrOptions, "the text has %d bytes: want at most %d", len(text), event.MaxText).
		WithHint("put it into a file of the project and name the file")
}

// Feedback adds a text to the agent's next prompt, in any stage. A kernel that holds the session journals the text;
// otherwise the text is journaled here. The error wraps [session.ErrTerminal] if the session has ended.
func (s Sender) Feedback(ctx context.Context, name, text, by string) error {
	status, err := s.sessions.Status(name)
	switch {
	case err != nil:
		return err
	case status.Status.Final():
		return inspect.NewError(session.ErrTerminal, "session '%s' %s", name, session.EndedText(status.Status)).WithHint("no prompt will follow")
	case status.Status == "" && status.Damage == "":
		return inspect.NeverBeganError(name)
	case strings.TrimSpace(text) == "":
		return inspect.NewError(session.ErrOptions, "the feedback is empty").WithHint("give a text for the next prompts")
	case len(text) > event.MaxText:
		return textTooLongError(text)
	}
	return s.sendOrDeliver(ctx, name, inbox.Message{Action: inbox.Feedback, By: by, Text: text})
}

// sendOrDeliver passes a message to a session of this engine, or else calls deliver.
func (s Sender) sendOrDeliver(ctx context.Context, name string, m inbox.Message) error {
	m.ID, m.By = session.NewID(), event.Truncate(m.By, event.MaxName)
	if s.sessions.Send(name, m.Event()) {
		return nil
	}
	return s.deliver(ctx, name, m)
}

// deliver posts a message to the kernel that holds the session. If no kernel does, it journals the message's event.
func (s Sender) deliver(ctx context.Context, name string, m inbox.Message) error {
	for {
		status, err := s.sessions.Status(name)
		if err != nil {
			return err
		}
		if status.Locked {
			return s.postMessage(ctx, name, m)
		}
		err = s.sessions.Record(ctx, name, m.Event())
		if !errors.Is(err, session.ErrLocked) { // else another kernel has acquired the session meanwhile
			return err
		}
	}
}

// postMessage posts a message to the kernel that holds the session. If the message will not be applied, it is removed
// and the error says why.
func (s Sender) postMessage(ctx context.Context, name string, m inbox.Message) error {
	dir, err := inspect.Open(s.env, name)
	if err != nil {
		return err
	}
	defer dir.Close()
	run, err := s.awaitRun(ctx, dir)
	if err != nil {
		return err
	}
	// The message stays in the session's directory until the kernel has read it, so it must have no secrets.
	m.Reason, m.Text = s.env.Redactor.Text(m.Reason), s.env.Redactor.ForAgent().Text(m.Text)
	if m.ID, err = inbox.Post(dir, run, m); err != nil {
		return err
	}
	if undelivered := s.checkDelivered(dir, run, m); undelivered != nil {
		return errors.Join(undelivered, inbox.Ack(dir, m.ID))
	}
	return nil
}

// awaitRun returns the run that the holder of the session works on. A kernel that has just taken the lock may begin
// another run, and a message for the previous run would not count: awaitRun waits for its kernel_start, for a few seconds
// at most.
func (s Sender) awaitRun(ctx context.Context, dir *store.Dir) (inbox.Run, error) {
	const patience, interval = 5 * time.Second, 50 * time.Millisecond
	for deadline := time.Now().Add(patience); ; {
		var kernel event.KernelStartData
		view, err := inspect.LoadView(s.env, dir, func(*plan.Plan) func(event.Event) {
			return func(e event.Event) {
				if e.Type == event.KernelStart {
					kernel, _ = event.Decode[event.KernelStartData](e)
				}
			}
		})
		holder, held, lockErr := store.LockHolder(s.env.Project, dir.Session())
		if err := errors.Join(err, lockErr); err != nil {
			return inbox.Run{}, err
		}
		if !held || holder.PID == 0 || holder.PID == kernel.PID || time.Now().After(deadline) {
			return inbox.Run{ID: view.State.RunID, Keys: signing.UserKeys()}, nil
		}
		select {
		case <-ctx.Done():
			return inbox.Run{}, context.Cause(ctx)
		case <-time.After(interval):
		}
	}
}

// checkDelivered returns an error if a message posted just now will not be applied. An ended session does not read the
// message, because a kernel clears its inbox after its last event and before it releases the lock. Of two concurrent
// answers to one question, the first counts.
func (s Sender) checkDelivered(dir *store.Dir, run inbox.Run, m inbox.Message) error {
	view, err := inspect.LoadView(s.env, dir, func(*plan.Plan) func(event.Event) { return func(event.Event) {} })
	switch {
	case err != nil || slices.Contains(view.State.Handled, m.ID):
		return nil //nolint:nilerr // the kernel that holds the session decides
	case view.State.Status.Final():
		return inspect.NewError(session.ErrTerminal, "session '%s' %s", dir.Session(), session.EndedText(view.State.Status)).WithHint("it ended a moment ago and accepts nothing more")
	case m.Action != inbox.Answer:
		return nil
	}
	if first, found := inbox.Before(dir, run, m); found {
		return alreadyAnsweredError(dir.Session(), m.Question, first.Answer, first.By)
	}
	if _, invalid := progress.Apply(view.Plan, view.State, m.Event()); invalid != nil {
		return session.NotAcceptedError(dir.Session(), invalid)
	}
	return nil
}

// PauseSession asks the kernel that holds a session to pause it after the current iteration. The error wraps
// [session.ErrTerminal] if the session has ended, and [session.ErrNothingToResume] if no kernel holds it.
func (s Sender) PauseSession(ctx context.Context, name, reason, by string) error {
	status, err := s.sessions.Status(name)
	if err != nil {
		return err
	}
	if !status.Locked {
		return notRunningError(name, status)
	}
	return s.postMessage(ctx, name, inbox.Message{Action: inbox.Pause, By: by, Reason: reason})
}

// AbortSession ends a session for good. A kernel that holds it cancels the current iteration; otherwise the end is
// journaled here. The error wraps [session.ErrTerminal] if the session has ended, and [session.ErrNothingToResume] if
// it never began.
func (s Sender) AbortSession(ctx context.Context, name, reason, by string) error {
	status, err := s.sessions.Status(name)
	if err != nil {
		return err
	}
	switch {
	case status.Status.Final():
		return inspect.NewError(session.ErrTerminal, "session '%s' %s", name, session.EndedText(status.Status)).WithHint("there is nothing left to abort")
	case !status.Locked && status.Status == "" && status.Damage == "":
		return inspect.NeverBeganError(name)
	}
	return s.deliver(ctx, name, inbox.Message{ID: session.NewID(), Action: inbox.Abort, By: by, Reason: reason})
}

// notRunningError says why a session that no kernel holds cannot be paused.
func notRunningError(name string, status *inspect.Status) error {
	switch {
	case status.Status == "":
		return inspect.NeverBeganError(name)
	case status.Status.Final():
		return inspect.NewError(session.ErrTerminal, "session '%s' is not running: it %s", name, session.EndedText(status.Status))
	case status.Crashed:
		return inspect.NewError(session.ErrNothingToResume, "session '%s' is not running: its process is gone", name).
			WithHint("continue with `%s`, or end it with `%s`", failure.Next("resume", name), failure.Next("abort", name))
	case status.Status == state.Paused:
		return inspect.NewError(session.ErrNothingToResume, "session '%s' is already paused", name).WithHint("continue with `%s`", failure.Next("resume", name))
	default:
		return inspect.NewError(session.ErrNothingToResume, "session '%s' is not running: its status is %s", name, status.Status).
			WithHint("continue with `%s`", failure.Next("resume", name))
	}
}

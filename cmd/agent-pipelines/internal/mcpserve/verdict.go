package mcpserve

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/dodo-digital/agent-pipelines/engine"
	"github.com/dodo-digital/agent-pipelines/kernel/event"
)

type questionsIn struct {
	Session string `json:"session,omitempty" jsonschema:"the session; default: all of the project"`
}

type questionsOut struct {
	Questions []engine.Question `json:"questions"`
	Unread    []string          `json:"unread,omitempty" jsonschema:"sessions that cannot be read"`
}

func (s *server) questions(ctx context.Context, _ call, in questionsIn) (out questionsOut, err error) {
	out.Questions = []engine.Question{}
	return out, s.Use(ctx, func(e *engine.Engine) error {
		open, err := s.Questions(e, in.Session, func(session string, _ error) { out.Unread = append(out.Unread, session) })
		out.Questions = append(out.Questions, open...)
		return err
	})
}

// shownQuestion names a question and the version of it that the client saw.
type shownQuestion struct {
	sessionArgument
	Question string `json:"question" jsonschema:"its id"`
	Digest   string `json:"digest" jsonschema:"its digest, as the tool questions showed it"`
	Stay     bool   `json:"stay,omitempty" jsonschema:"only record the answer: do not resume the session"`
}

type approveIn struct {
	shownQuestion
	Text string `json:"text,omitempty" jsonschema:"text for the next prompts; a tool call takes none"`
}

type rejectIn struct {
	shownQuestion
	Feedback   string `json:"feedback,omitempty" jsonschema:"the changes to make; this or end_session"`
	EndSession bool   `json:"end_session,omitempty" jsonschema:"reject without feedback, which ends the session for good"`
}

type answerOut struct {
	Session  string   `json:"session"`
	Question string   `json:"question"`
	Answer   string   `json:"answer"`
	Status   string   `json:"status"`
	Owned    bool     `json:"held" jsonschema:"a process works on the session"`
	Resumed  bool     `json:"resumed" jsonschema:"it was started by this call"`
	Next     []string `json:"next" jsonschema:"the possible next steps"`
}

func (s *server) approve(ctx context.Context, c call, in approveIn) (answerOut, error) {
	return s.answer(ctx, c, in.shownQuestion, event.AnswerApprove, in.Text)
}

func (s *server) reject(ctx context.Context, c call, in rejectIn) (answerOut, error) {
	if (in.Feedback == "") != in.EndSession {
		return answerOut{}, wrong("either feedback or end_session is needed", "describe the changes to make in feedback, or end the session for good with end_session: true")
	}
	return s.answer(ctx, c, in.shownQuestion, event.AnswerReject, in.Feedback)
}

func (s *server) skipCall(ctx context.Context, c call, in shownQuestion) (answerOut, error) {
	return s.answer(ctx, c, in, event.AnswerSkip, "")
}

// restLimit bounds the time that an answer waits until the asking session has paused or awaits the user.
const restLimit = 10 * time.Second

func (s *server) answer(ctx context.Context, c call, q shownQuestion, answer, text string) (out answerOut, err error) {
	if err := errors.Join(checkText(q.Session, "the text", text), checkName("question", q.Question), checkName("digest", q.Digest)); err != nil {
		return out, err
	}
	var st *engine.Status
	err = s.Use(ctx, func(e *engine.Engine) error {
		// An answer just before the session pauses would leave the session without a process.
		if err := s.awaitRest(ctx, e, q.Session, restLimit, c); err != nil {
			return err
		}
		o := engine.AnswerOptions{Session: q.Session, Question: q.Question, Answer: answer, Text: text, Digest: q.Digest, By: c.by}
		if err := e.Answer(ctx, o); err != nil {
			return err
		}
		st, err = e.Status(q.Session)
		return err
	})
	if err != nil {
		return out, err
	}
	if !st.Locked && !st.Status.Final() && !q.Stay && len(unanswered(st)) == 0 {
		if _, err := s.resumeSession(ctx, c, q.Session, ""); err != nil {
			return out, err
		}
		out.Resumed = true
		if err := s.Use(ctx, func(e *engine.Engine) error { st, err = e.Status(q.Session); return err }); err != nil {
			return out, err
		}
	}
	now := s.newStatus(st)
	out.Session, out.Question, out.Answer, out.Status, out.Owned, out.Next = q.Session, q.Question, answer, now.Status, now.Owned, slices.Clone(now.Next)
	return out, nil
}

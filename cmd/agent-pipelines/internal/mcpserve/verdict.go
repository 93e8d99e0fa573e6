package mcpserve

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/dodo-digital/agent-pipelines/engine"
	"github.com/dodo-digital/agent-pipelines/kernel/event"
)

var (
	questions = tool{
		name: "questions", title: "Show what sessions ask", traits: reads,
		text: "Shows the open questions of a session, or of all: what is asked, with a preview of what it is about, and the digest that an answer needs.",
	}
	approve = tool{
		name: "approve", title: "Approve what a session asks about", traits: adds,
		text: "Answers a question with yes, in the user's name, and has the session go on in the background. The digest is that of the question as you saw it: an answer to something that has changed since is refused.",
	}
	reject = tool{
		name: "reject", title: "Reject what a session asks about", traits: takesAway,
		text: "Answers a question with no, in the user's name. With feedback the stage is sent back with it, or the agent told; end_session says instead that the session is to end for good.",
	}
	skipCall = tool{
		name: "skip_call", title: "Leave out a tool call", traits: adds,
		text: "Answers a question about a tool call of an agent (kind tool): the call is not made, and the agent goes on without it.",
	}
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
		if in.Session != "" {
			asked, err := e.Questions(in.Session)
			out.Questions = append(out.Questions, asked...)
			return err
		}
		sessions, err := e.Sessions()
		if err != nil {
			return err
		}
		for _, i := range sessions {
			if i.Status.Final() {
				continue
			}
			asked, err := e.Questions(i.Session)
			if err != nil { // of the others it shall be known all the same
				out.Unread = append(out.Unread, i.Session)
			}
			out.Questions = append(out.Questions, asked...)
		}
		return nil
	})
}

// asked names a question as it was seen.
type asked struct {
	named
	Question string `json:"question" jsonschema:"its id"`
	Digest   string `json:"digest" jsonschema:"its digest, as the tool questions showed it"`
	Stay     bool   `json:"stay,omitempty" jsonschema:"only record the answer: do not go on with the session"`
}

type approveIn struct {
	asked
	Text string `json:"text,omitempty" jsonschema:"text for the next prompts; a tool call takes none"`
}

type rejectIn struct {
	asked
	Feedback   string `json:"feedback,omitempty" jsonschema:"what is to be done better; this or end_session"`
	EndSession bool   `json:"end_session,omitempty" jsonschema:"reject without feedback, which ends the session for good"`
}

type answerOut struct {
	Session  string   `json:"session"`
	Question string   `json:"question"`
	Answer   string   `json:"answer"`
	Status   string   `json:"status"`
	Held     bool     `json:"held" jsonschema:"a process works on the session"`
	Resumed  bool     `json:"resumed" jsonschema:"it was started by this call"`
	Next     []string `json:"next" jsonschema:"what can be done next"`
}

func (s *server) approve(ctx context.Context, c call, in approveIn) (answerOut, error) {
	return s.answer(ctx, c, in.asked, event.AnswerApprove, in.Text)
}

func (s *server) reject(ctx context.Context, c call, in rejectIn) (answerOut, error) {
	if (in.Feedback == "") != in.EndSession {
		return answerOut{}, wrong("either feedback or end_session is needed", "say what is to be done better; a rejection without that ends the session for good, which end_session: true confirms")
	}
	return s.answer(ctx, c, in.asked, event.AnswerReject, in.Feedback)
}

func (s *server) skipCall(ctx context.Context, c call, in asked) (answerOut, error) {
	return s.answer(ctx, c, in, event.AnswerSkip, "")
}

// restLimit is how long an answer waits for a session that has asked to come to rest.
const restLimit = 10 * time.Second

func (s *server) answer(ctx context.Context, c call, q asked, answer, said string) (out answerOut, err error) {
	if err := errors.Join(s.saidOf(q.Session, "the text", said), word("question", q.Question), word("digest", q.Digest)); err != nil {
		return out, err
	}
	var st *engine.Status
	err = s.Use(ctx, func(e *engine.Engine) error {
		// Whoever answers at once, while the session is about to pause, would have nobody go on with it.
		if err := s.untilRest(ctx, e, q.Session, restLimit, c); err != nil {
			return err
		}
		o := engine.AnswerOptions{Session: q.Session, Question: q.Question, Answer: answer, Text: said, Digest: q.Digest, By: c.by}
		if err := e.Answer(ctx, o); err != nil {
			return err
		}
		st, err = e.Status(q.Session)
		return err
	})
	if err != nil {
		return out, err
	}
	if !st.Held && !st.Status.Final() && !q.Stay && len(unanswered(st)) == 0 {
		if _, err := s.goOn(ctx, c, q.Session, ""); err != nil {
			return out, err
		}
		out.Resumed = true
		if err := s.Use(ctx, func(e *engine.Engine) error { st, err = e.Status(q.Session); return err }); err != nil {
			return out, err
		}
	}
	now := s.statusOf(st)
	out.Session, out.Question, out.Answer, out.Status, out.Held, out.Next = q.Session, q.Question, answer, now.Status, now.Held, slices.Clone(now.Next)
	return out, nil
}

package mcpserve

import (
	"context"

	"github.com/dodo-digital/agent-pipelines/engine"
)

var (
	pause = tool{
		name: "pause", title: "Pause a session", traits: addsOnce,
		text: "Asks the process of a session to pause it after the current iteration. resume continues.",
	}
	abort = tool{
		name: "abort", title: "End a session for good", traits: takesAway,
		text: "Ends a session for good: the iteration that runs is cancelled, and it cannot be resumed.",
	}
)

type controlIn struct {
	named
	Reason string `json:"reason,omitempty" jsonschema:"why, for the journal"`
}

type controlOut struct {
	Session   string `json:"session"`
	Requested string `json:"requested"`
}

func (s *server) pause(ctx context.Context, c call, in controlIn) (controlOut, error) {
	return s.control(ctx, in, "pause", func(e *engine.Engine) error { return e.PauseSession(ctx, in.Session, in.Reason, c.by) })
}

func (s *server) abort(ctx context.Context, c call, in controlIn) (controlOut, error) {
	return s.control(ctx, in, "abort", func(e *engine.Engine) error { return e.AbortSession(ctx, in.Session, in.Reason, c.by) })
}

func (s *server) control(ctx context.Context, in controlIn, requested string, do func(*engine.Engine) error) (controlOut, error) {
	if err := s.checkText(in.Session, "the reason", in.Reason); err != nil {
		return controlOut{}, err
	}
	return controlOut{Session: in.Session, Requested: requested}, s.Use(ctx, do)
}

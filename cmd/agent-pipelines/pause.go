package main

import (
	"context"
	"fmt"

	"github.com/dodo-digital/agent-pipelines/cmd/agent-pipelines/internal/document"
	"github.com/dodo-digital/agent-pipelines/engine"
)

// pauseVerb is `pause <session>`.
type pauseVerb struct {
	Session string `arg:"" help:"The session to pause."`
	Reason  string `help:"Why, for the journal."`
}

func (v *pauseVerb) run(ctx context.Context, a *app) error {
	err := a.use(ctx, func(e *engine.Engine) error { return e.PauseSession(ctx, v.Session, v.Reason, a.user()) })
	if err != nil {
		return err
	}
	a.confirm("pause", v.Session, fmt.Sprintf("Session '%s' pauses after the iteration that runs now.", v.Session))
	return nil
}

// confirm says that a request was taken.
func (a *app) confirm(action, session, text string) {
	if a.JSON {
		a.document(document.Request{Session: session, Requested: action}, program+" status "+session)
		return
	}
	fmt.Fprintln(a.stdout, text)
}

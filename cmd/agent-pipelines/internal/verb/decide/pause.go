package decide

import (
	"context"
	"fmt"

	"github.com/dodo-digital/agent-pipelines/cmd/agent-pipelines/internal/cli"
	"github.com/dodo-digital/agent-pipelines/cmd/agent-pipelines/internal/document"
	"github.com/dodo-digital/agent-pipelines/engine"
)

// Pause is `pause <session>`.
type Pause struct {
	Session string `arg:"" help:"The session to pause."`
	Reason  string `help:"Why, for the journal."`
}

func (v *Pause) Run(ctx context.Context, a *cli.App) error {
	err := a.Use(ctx, func(e *engine.Engine) error { return e.PauseSession(ctx, v.Session, v.Reason, a.User()) })
	if err != nil {
		return err
	}
	confirm(a, "pause", v.Session, fmt.Sprintf("Session '%s' pauses after the iteration that runs now.", v.Session))
	return nil
}

// confirm says that a request was taken.
func confirm(a *cli.App, action, session, text string) {
	if a.JSON {
		a.Document(document.Request{Session: session, Requested: action}, cli.Program+" status "+session)
		return
	}
	fmt.Fprintln(a.Stdout, text)
}

package decide

import (
	"context"
	"fmt"

	"github.com/dodo-digital/agent-pipelines/cmd/agent-pipelines/internal/cli"
	"github.com/dodo-digital/agent-pipelines/cmd/agent-pipelines/internal/document"
	"github.com/dodo-digital/agent-pipelines/engine"
)

// Pause is the verb `pause <session>`.
type Pause struct {
	Session string `arg:"" help:"The session to pause."`
	Reason  string `help:"Reason to record in the journal."`
}

// Run implements [cli.Verb].
func (v *Pause) Run(ctx context.Context, a *cli.App) error {
	err := a.WithEngine(ctx, func(e *engine.Engine) error { return e.PauseSession(ctx, v.Session, v.Reason, a.User()) })
	if err != nil {
		return err
	}
	printRequest(a, "pause", v.Session, fmt.Sprintf("Session '%s' pauses after the iteration that runs now.", v.Session))
	return nil
}

// printRequest prints that a request was accepted.
func printRequest(a *cli.App, action, session, text string) {
	if a.JSON {
		a.Document(document.Request{Session: session, Requested: action}, cli.Program+" status "+session)
		return
	}
	fmt.Fprintln(a.Stdout, text)
}

// Abort is the verb `abort <session>`.
type Abort struct {
	Session string `arg:"" help:"The session to end."`
	Reason  string `help:"Reason to record in the journal."`
}

// Run implements [cli.Verb].
func (v *Abort) Run(ctx context.Context, a *cli.App) error {
	err := a.WithEngine(ctx, func(e *engine.Engine) error { return e.AbortSession(ctx, v.Session, v.Reason, a.User()) })
	if err != nil {
		return err
	}
	printRequest(a, "abort", v.Session, fmt.Sprintf("Session '%s' ends.", v.Session))
	return nil
}

package decide

import (
	"context"
	"fmt"
	"io"

	"github.com/dodo-digital/agent-pipelines/cmd/agent-pipelines/internal/cli"
	"github.com/dodo-digital/agent-pipelines/cmd/agent-pipelines/internal/document"
	"github.com/dodo-digital/agent-pipelines/engine"
)

// control holds the arguments of a request to the process of a session.
type control struct {
	Session string `arg:"" help:"The session."`
	Reason  string `help:"Reason to record in the journal."`
}

// send sends the request of an action, and prints text.
func (c *control) send(ctx context.Context, a *cli.App, action, text string, send func(e *engine.Engine, ctx context.Context, session, reason, by string) error) error {
	return a.WithEngine(ctx, func(e *engine.Engine) error {
		if err := send(e, ctx, c.Session, c.Reason, a.User()); err != nil {
			return err
		}
		return a.Print(document.Request{Session: c.Session, Requested: action}, func(to io.Writer) {
			fmt.Fprintf(to, text+"\n", c.Session)
		}, cli.Program+" status "+c.Session)
	})
}

// Pause is the verb `pause <session>`.
type Pause struct{ control }

// Run implements [cli.Verb].
func (v *Pause) Run(ctx context.Context, a *cli.App) error {
	return v.send(ctx, a, "pause", "Session '%s' pauses after the iteration that runs now.", (*engine.Engine).PauseSession)
}

// Abort is the verb `abort <session>`.
type Abort struct{ control }

// Run implements [cli.Verb].
func (v *Abort) Run(ctx context.Context, a *cli.App) error {
	return v.send(ctx, a, "abort", "Session '%s' ends.", (*engine.Engine).AbortSession)
}

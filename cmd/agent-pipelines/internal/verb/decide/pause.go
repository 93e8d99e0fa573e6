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
	return cli.Show(ctx, a, func(e *engine.Engine) (document.Request, error) {
		return document.Request{Session: c.Session, Requested: action}, send(e, ctx, c.Session, c.Reason, a.User())
	}, func(to io.Writer, r document.Request) {
		fmt.Fprintf(to, text+"\n", r.Session)
	}, func(r document.Request) []string { return []string{cli.Program + " status " + r.Session} })
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

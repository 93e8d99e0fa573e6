package decide

import (
	"context"
	"fmt"

	"github.com/dodo-digital/agent-pipelines/cmd/agent-pipelines/internal/cli"
	"github.com/dodo-digital/agent-pipelines/engine"
)

// Abort is `abort <session>`.
type Abort struct {
	Session string `arg:"" help:"The session to end."`
	Reason  string `help:"Why, for the journal."`
}

func (v *Abort) Run(ctx context.Context, a *cli.App) error {
	err := a.Use(ctx, func(e *engine.Engine) error { return e.AbortSession(ctx, v.Session, v.Reason, a.User()) })
	if err != nil {
		return err
	}
	confirm(a, "abort", v.Session, fmt.Sprintf("Session '%s' ends.", v.Session))
	return nil
}

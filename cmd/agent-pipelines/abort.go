package main

import (
	"context"
	"fmt"

	"github.com/dodo-digital/agent-pipelines/engine"
)

// abortVerb is `abort <session>`.
type abortVerb struct {
	Session string `arg:"" help:"The session to end."`
	Reason  string `help:"Why, for the journal."`
}

func (v *abortVerb) run(ctx context.Context, a *app) error {
	err := a.use(ctx, func(e *engine.Engine) error { return e.AbortSession(ctx, v.Session, v.Reason, a.user()) })
	if err != nil {
		return err
	}
	a.confirm("abort", v.Session, fmt.Sprintf("Session '%s' ends.", v.Session))
	return nil
}

package main

import (
	"context"

	"github.com/dodo-digital/agent-pipelines/engine"
)

// reviewVerb is `review <session>`.
type reviewVerb struct {
	Session string `arg:"" help:"The session to review."`
	Node    string `default:"review" placeholder:"NODE" help:"The stage that reviews. Default: review."`
	Force   bool   `help:"Review a session again that is completed: it goes on from there as its pipeline says."`
	Context string `help:"Text for the reviewer's prompt."`
	herePlace
	cleanedFlag
	waitFlags
	sandboxFlags
}

func (v *reviewVerb) run(ctx context.Context, a *app) error {
	at := placeFlags(v.herePlace)
	place, err := at.said()
	if err != nil {
		return err
	}
	asked, err := v.said()
	if err != nil {
		return err
	}
	a.unattended = v.Unattended
	return a.resume(ctx, orPlace(place, engine.BackgroundOff), engine.ResumeOptions{
		Session: v.Session, Context: v.Context, Wait: v.Wait, Sandbox: asked, Notes: v.notes(), Again: v.Node, Reopen: v.Force,
	})
}

// againArguments are flags that say the same in another process.
func againArguments(o engine.ResumeOptions) []string {
	args := []string{"--node=" + o.Again}
	if o.Reopen {
		args = append(args, "--force")
	}
	return args
}

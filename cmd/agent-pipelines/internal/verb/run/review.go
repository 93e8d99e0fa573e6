package run

import (
	"context"

	"github.com/dodo-digital/agent-pipelines/cmd/agent-pipelines/internal/cli"
	"github.com/dodo-digital/agent-pipelines/engine"
)

// Review is `review <session>`.
type Review struct {
	Session string `arg:"" help:"The session to review."`
	Node    string `default:"review" placeholder:"NODE" help:"The stage that reviews. Default: review."`
	Force   bool   `help:"Review a session again that is completed: it goes on from there as its pipeline says."`
	Context string `help:"Text for the reviewer's prompt."`
	herePlace
	cleanedFlag
	WaitFlags
	SandboxFlags
}

func (v *Review) Run(ctx context.Context, a *cli.App) error {
	at := PlaceFlags(v.herePlace)
	place, err := at.said()
	if err != nil {
		return err
	}
	asked, err := v.said()
	if err != nil {
		return err
	}
	a.Unattended = v.Unattended
	return ResumeSession(a, ctx, orPlace(place, engine.BackgroundOff), engine.ResumeOptions{
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

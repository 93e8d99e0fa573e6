package run

import (
	"cmp"
	"context"

	"github.com/dodo-digital/agent-pipelines/cmd/agent-pipelines/internal/cli"
	"github.com/dodo-digital/agent-pipelines/engine"
	"github.com/dodo-digital/agent-pipelines/engine/authoring"
)

// Review is the verb `review <session>`.
type Review struct {
	Session string `arg:"" help:"The session to review."`
	Node    string `default:"review" placeholder:"NODE" help:"The reviewing stage (default review)."`
	Force   bool   `help:"Reopen a completed session, which continues after the review."`
	Context string `help:"Text for the reviewer's prompt."`
	foregroundFlags
	cleanupFlag
	waitFlags
	SandboxFlags
}

// Run implements [cli.Verb].
func (v *Review) Run(ctx context.Context, a *cli.App) error {
	flags := backgroundFlags(v.foregroundFlags)
	mode, err := flags.selected()
	if err != nil {
		return err
	}
	sandbox, err := v.policy()
	if err != nil {
		return err
	}
	a.Unattended = v.Unattended
	return ResumeSession(ctx, a, cmp.Or(mode, authoring.BackgroundOff), engine.ResumeOptions{
		Session: v.Session, Context: v.Context, Wait: v.Wait, Sandbox: sandbox, Notes: v.notes(), Rerun: v.Node, Reopen: v.Force,
	})
}

// reviewArguments returns the flags that give the same options in another process.
func reviewArguments(o engine.ResumeOptions) []string {
	args := []string{"--node=" + o.Rerun}
	if o.Reopen {
		args = append(args, "--force")
	}
	return args
}

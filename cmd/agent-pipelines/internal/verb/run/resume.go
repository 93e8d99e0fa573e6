package run

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/dodo-digital/agent-pipelines/cmd/agent-pipelines/internal/cli"
	"github.com/dodo-digital/agent-pipelines/engine"
)

// Resume is the verb `resume <session>`.
type Resume struct {
	Session        string `arg:"" help:"The session to resume."`
	Context        string `help:"Text for the next iteration, appended to $${CONTEXT} or, without it, to the prompt."`
	Force          bool   `help:"Override the lock of another process; grant a run past its time limit (guardrails) the same time again."`
	SkipFailedStep bool   `help:"Count failed steps as done."`
	ResetCycles    bool   `help:"Reset the counts of cycles to earlier stages."`
	By             string `hidden:"" help:"User to record in the journal (default the current one)."`
	foregroundFlags
	waitFlag
	SandboxFlags
}

// Run implements [cli.Verb].
func (v *Resume) Run(ctx context.Context, a *cli.App) error {
	sandbox, err := v.policy()
	if err != nil {
		return err
	}
	return v.start(ctx, a, startRequest{Resume: &engine.ResumeOptions{
		Session: v.Session, Context: v.Context, Force: v.Force, Wait: v.Wait, Sandbox: sandbox,
		SkipFailedStep: v.SkipFailedStep, ResetCycles: v.ResetCycles, By: v.By,
	}})
}

// Review is the verb `review <session>`.
type Review struct {
	Session string `arg:"" help:"The session to review."`
	Node    string `default:"review" placeholder:"NODE" help:"The reviewing stage (default review)."`
	Force   bool   `help:"Reopen a completed session, which continues after the review."`
	Context string `help:"Text for the reviewer's prompt."`
	foregroundFlags
	waitFlag
	SandboxFlags
}

// Run implements [cli.Verb].
func (v *Review) Run(ctx context.Context, a *cli.App) error {
	sandbox, err := v.policy()
	if err != nil {
		return err
	}
	return v.start(ctx, a, startRequest{Resume: &engine.ResumeOptions{
		Session: v.Session, Context: v.Context, Wait: v.Wait, Sandbox: sandbox, Rerun: v.Node, Reopen: v.Force,
	}})
}

// ignoredOnResume lists the flags, besides [EntryNames], that a resumed session ignores.
var ignoredOnResume = []string{"provider", "model", "mode", "input", "command", "skip", "skip-verify", "timeout", "max-cycles"}

// resume implements --resume of the verbs loop and pipeline. o has the options of a start; options that a resumed session
// ignores are reported.
func (f *Flags) resume(ctx context.Context, a *cli.App, o engine.RunOptions, session string, runs Runs) error {
	if ignored := SetFlags(a.Selected, slices.Concat(ignoredOnResume, EntryNames)...); len(ignored) > 0 && !a.Quiet {
		fmt.Fprintf(a.Stderr, "Ignored: %s; a resumed session keeps its plan.\n", strings.Join(ignored, ", "))
	}
	return f.start(ctx, a, startRequest{Resume: &engine.ResumeOptions{
		Session: session, Runs: int(runs), Context: f.Context, Force: f.Force, Wait: f.Wait, Sandbox: o.Sandbox,
	}})
}

package run

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/dodo-digital/agent-pipelines/cmd/agent-pipelines/internal/cli"
	"github.com/dodo-digital/agent-pipelines/engine"
)

// Loop is `loop <stage> [session] [max]`.
type Loop struct {
	Stage   string `arg:"" help:"The stage to run."`
	Session string `arg:"" optional:"" help:"The session's name. Default: the stage's."`
	Max     *int   `arg:"" optional:"" help:"The most iterations. Default: 25."`

	RunFlags
}

func (v *Loop) Run(ctx context.Context, a *cli.App) error {
	if err := v.Check(); err != nil {
		return err
	}
	switch {
	case v.Stage == "":
		return cli.UsageError("the stage's name is empty", "give the name of a stage")
	case v.Max != nil && *v.Max < 1:
		return cli.UsageError(fmt.Sprintf("a loop cannot have %d iterations", *v.Max), "give a number from 1, or leave it out")
	}
	if v.Resume {
		return v.resume(ctx, a, engine.ResumeOptions{Session: cmp.Or(v.Session, v.Stage)})
	}
	o, err := v.Options(a)
	if err != nil {
		return err
	}
	o.Stage, o.Session = v.Stage, v.Session
	a.Unattended = v.Unattended
	if v.Max != nil {
		o.Max = *v.Max
	}
	return start(a, ctx, v.PlaceFlags, o, func(session string, more ...string) []string {
		words := append([]string{v.Stage, session}, maximum(v.Max)...)
		return a.Foreground("loop", slices.Concat(v.Arguments(o), more), words)
	})
}

// start runs a new session here, or has another process run it by a command.
func start(a *cli.App, ctx context.Context, at PlaceFlags, o engine.RunOptions, command func(session string, more ...string) []string, say ...string) error {
	place, err := at.Place(ctx, a)
	if err != nil {
		return err
	}
	if place != engine.BackgroundOff {
		return inBackground(a, ctx, errand{
			at: place, session: cmp.Or(o.Session, o.Stage), force: o.Force, command: command,
			check: func(ctx context.Context, e *engine.Engine) (*engine.PreflightResult, error) {
				return e.Preflight(ctx, o)
			},
		})
	}
	return perform(a, ctx, o.Wait, func(ctx context.Context, e *engine.Engine, wait bool, observe func(engine.Update)) (*engine.Result, error) {
		o.Wait, o.Observe = wait, observe
		return e.Run(ctx, o)
	}, say...)
}

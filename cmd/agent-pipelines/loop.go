package main

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/dodo-digital/agent-pipelines/engine"
)

// loopVerb is `loop <stage> [session] [max]`.
type loopVerb struct {
	Stage   string `arg:"" help:"The stage to run."`
	Session string `arg:"" optional:"" help:"The session's name. Default: the stage's."`
	Max     *int   `arg:"" optional:"" help:"The most iterations. Default: 25."`

	runFlags
}

func (v *loopVerb) run(ctx context.Context, a *app) error {
	if err := v.check(); err != nil {
		return err
	}
	switch {
	case v.Stage == "":
		return usageError("the stage's name is empty", "give the name of a stage")
	case v.Max != nil && *v.Max < 1:
		return usageError(fmt.Sprintf("a loop cannot have %d iterations", *v.Max), "give a number from 1, or leave it out")
	}
	if v.Resume {
		return v.resume(ctx, a, engine.ResumeOptions{Session: cmp.Or(v.Session, v.Stage)})
	}
	o, err := v.options(a)
	if err != nil {
		return err
	}
	o.Stage, o.Session = v.Stage, v.Session
	a.unattended = v.Unattended
	if v.Max != nil {
		o.Max = *v.Max
	}
	return a.start(ctx, v.placeFlags, o, func(session string, more ...string) []string {
		words := append([]string{v.Stage, session}, maximum(v.Max)...)
		return a.foreground("loop", slices.Concat(v.arguments(o), more), words)
	})
}

// start runs a new session here, or has another process run it by a command.
func (a *app) start(ctx context.Context, at placeFlags, o engine.RunOptions, command func(session string, more ...string) []string, say ...string) error {
	place, err := at.place(ctx, a)
	if err != nil {
		return err
	}
	if place != engine.BackgroundOff {
		return a.inBackground(ctx, errand{
			at: place, session: cmp.Or(o.Session, o.Stage), force: o.Force, command: command,
			check: func(ctx context.Context, e *engine.Engine) (*engine.PreflightResult, error) {
				return e.Preflight(ctx, o)
			},
		})
	}
	return a.perform(ctx, o.Wait, func(ctx context.Context, e *engine.Engine, wait bool, observe func(engine.Update)) (*engine.Result, error) {
		o.Wait, o.Observe = wait, observe
		return e.Run(ctx, o)
	}, say...)
}

package main

import (
	"context"
	"fmt"

	"github.com/dodo-digital/agent-pipelines/kernel"
)

// loopVerb is `loop <stage> [session] [max]`.
type loopVerb struct {
	Stage   string `arg:"" help:"The stage to run."`
	Session string `arg:"" optional:"" help:"The session's name. Default: the stage's."`
	Max     *int   `arg:"" optional:"" help:"The most iterations. Default: 25."`

	runFlags
}

func (v *loopVerb) run(ctx context.Context, a *app) error {
	if err := v.check(a); err != nil {
		return err
	}
	switch {
	case v.Stage == "":
		return usageError("the stage's name is empty", "give the name of a stage")
	case v.Max != nil && *v.Max < 1:
		return usageError(fmt.Sprintf("a loop cannot have %d iterations", *v.Max), "give a number from 1, or leave it out")
	}
	if v.Resume {
		return v.resume(ctx, a, orElse(v.Session, v.Stage))
	}
	o, err := v.options(a)
	if err != nil {
		return err
	}
	o.Stage, o.Session = v.Stage, v.Session
	if v.Max != nil {
		o.Max = *v.Max
	}
	return a.start(ctx, o)
}

// start runs a new session.
func (a *app) start(ctx context.Context, o kernel.RunOptions, say ...string) error {
	return a.perform(ctx, func(ctx context.Context, e *kernel.Engine, observe func(kernel.Update)) (*kernel.Result, error) {
		o.Observe = observe
		return e.Run(ctx, o)
	}, say...)
}

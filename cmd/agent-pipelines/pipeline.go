package main

import (
	"context"
	"fmt"
	"slices"
)

// pipelineVerb is `pipeline <file|name> [session] [runs]`.
type pipelineVerb struct {
	Pipeline string `arg:"" help:"The pipeline's name, or the path of its file."`
	Session  string `arg:"" optional:"" help:"The session's name. Default: the pipeline's, with the time."`
	Runs     int    `arg:"" optional:"" default:"1" help:"How often it runs. This version runs it once."`

	runFlags
}

func (v *pipelineVerb) run(ctx context.Context, a *app) error {
	if err := v.check(); err != nil {
		return err
	}
	switch {
	case v.Pipeline == "":
		return usageError("the pipeline's name is empty", "give the name of a pipeline, or the path of its file")
	case v.Runs < 1:
		return usageError(fmt.Sprintf("a pipeline cannot run %d times", v.Runs), "leave the number of runs out, or give 1")
	case v.Runs > 1:
		return usageError(fmt.Sprintf("this version runs a pipeline once, not %d times", v.Runs),
			"leave the number of runs out, or start a session for each run")
	case v.Resume && v.Session == "":
		return usageError("--resume needs the session's name", "%s pipeline %s <session> --resume; `%s list` shows the sessions",
			program, v.Pipeline, program)
	case v.Resume:
		return v.resume(ctx, a, v.Session)
	}
	o, err := v.options(a)
	if err != nil {
		return err
	}
	o.Pipeline, o.Session = v.Pipeline, v.Session
	return a.start(ctx, v.placeFlags, o, func(session string, more ...string) []string {
		return a.foreground("pipeline", slices.Concat(v.arguments(o), more), []string{v.Pipeline, session})
	}, "Compiling plan.json...")
}

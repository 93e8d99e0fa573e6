package main

import (
	"context"
	"fmt"
	"slices"
	"strconv"

	"github.com/dodo-digital/agent-pipelines/engine"
)

// pipelineVerb is `pipeline <file|name> [session] [runs]`.
type pipelineVerb struct {
	Pipeline string `arg:"" help:"The pipeline's name, or the path of its file."`
	Session  string `arg:"" optional:"" help:"The session's name. Default: that of the pipeline's file, or pipeline where a name was given and no path, with the time."`
	Runs     runs   `arg:"" optional:"" help:"How often the whole pipeline runs in the session. Default: 1."`

	runFlags
	entryFlags
}

func (v *pipelineVerb) run(ctx context.Context, a *app) error {
	if err := v.check(); err != nil {
		return err
	}
	switch {
	case v.Pipeline == "":
		return usageError("the pipeline's name is empty", "give the name of a pipeline, or the path of its file")
	case v.Resume && v.Session == "":
		return usageError("--resume needs the session's name", "%s pipeline %s <session> --resume; `%s list` shows the sessions",
			program, v.Pipeline, program)
	case v.Resume:
		return v.resume(ctx, a, engine.ResumeOptions{Session: v.Session, Runs: int(v.Runs)}, v.given()...)
	}
	o, err := v.options(a)
	if err == nil {
		err = v.enter(ctx, a, &o)
	}
	if err != nil {
		return err
	}
	o.Pipeline, o.Session, o.Runs = v.Pipeline, v.Session, int(v.Runs)
	a.unattended = v.Unattended
	return a.start(ctx, v.placeFlags, o, func(session string, more ...string) []string {
		return a.foreground("pipeline", slices.Concat(v.arguments(o), more), append([]string{v.Pipeline, session}, v.Runs.word()...))
	}, "Compiling plan.json...")
}

// runs is how often a whole pipeline runs, 0 where the command says nothing.
type runs int

// mostRuns is the largest number, so that the folders of nested pipelines, which count on, can be numbered.
const mostRuns = 999_999

// UnmarshalText reads a number from 1.
func (r *runs) UnmarshalText(text []byte) error {
	n, err := strconv.Atoi(string(text))
	if err != nil || n < 1 || n > mostRuns {
		return fmt.Errorf("a pipeline cannot run %q times: give a number from 1 to %d, or leave it out", text, mostRuns)
	}
	*r = runs(n)
	return nil
}

// word is the number on another command line.
func (r runs) word() []string {
	if r == 0 {
		return nil
	}
	return []string{strconv.Itoa(int(r))}
}

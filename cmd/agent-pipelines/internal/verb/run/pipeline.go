package run

import (
	"context"
	"fmt"
	"slices"
	"strconv"

	"github.com/dodo-digital/agent-pipelines/cmd/agent-pipelines/internal/cli"
	"github.com/dodo-digital/agent-pipelines/engine"
)

// Pipeline is `pipeline <file|name> [session] [runs]`.
type Pipeline struct {
	Pipeline string `arg:"" help:"The pipeline's name, or the path of its file."`
	Session  string `arg:"" optional:"" help:"The session's name. Default: that of the pipeline's file, or pipeline where a name was given and no path, with the time."`
	Runs     Runs   `arg:"" optional:"" help:"How often the whole pipeline runs in the session. Default: 1."`

	RunFlags
	EntryFlags
}

func (v *Pipeline) Run(ctx context.Context, a *cli.App) error {
	if err := v.Check(); err != nil {
		return err
	}
	switch {
	case v.Pipeline == "":
		return cli.UsageError("the pipeline's name is empty", "give the name of a pipeline, or the path of its file")
	case v.Resume && v.Session == "":
		return cli.UsageError("--resume needs the session's name", "%s pipeline %s <session> --resume; `%s list` shows the sessions",
			cli.Program, v.Pipeline, cli.Program)
	case v.Resume:
		return v.resume(ctx, a, engine.ResumeOptions{Session: v.Session, Runs: int(v.Runs)}, v.Given()...)
	}
	o, err := v.Options(a)
	if err == nil {
		err = v.Enter(ctx, a, &o)
	}
	if err != nil {
		return err
	}
	o.Pipeline, o.Session, o.Runs = v.Pipeline, v.Session, int(v.Runs)
	a.Unattended = v.Unattended
	return start(a, ctx, v.PlaceFlags, o, func(session string, more ...string) []string {
		return a.Foreground("pipeline", slices.Concat(v.Arguments(o), more), append([]string{v.Pipeline, session}, v.Runs.Word()...))
	}, "Compiling plan.json...")
}

// Runs is how often a whole pipeline runs, 0 where the command says nothing.
type Runs int

// mostRuns is the largest number, so that the folders of nested pipelines, which count on, can be numbered.
const mostRuns = 999_999

// UnmarshalText reads a number from 1.
func (r *Runs) UnmarshalText(text []byte) error {
	n, err := strconv.Atoi(string(text))
	if err != nil || n < 1 || n > mostRuns {
		return fmt.Errorf("a pipeline cannot run %q times: give a number from 1 to %d, or leave it out", text, mostRuns)
	}
	*r = Runs(n)
	return nil
}

// Word is the number on another command line.
func (r Runs) Word() []string {
	if r == 0 {
		return nil
	}
	return []string{strconv.Itoa(int(r))}
}

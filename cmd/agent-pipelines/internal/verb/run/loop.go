package run

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/dodo-digital/agent-pipelines/cmd/agent-pipelines/internal/cli"
	"github.com/dodo-digital/agent-pipelines/engine"
	"github.com/dodo-digital/agent-pipelines/engine/authoring"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/nearest"
)

// Loop is the verb `loop <stage> [session] [max]`.
type Loop struct {
	Stage   string `arg:"" help:"The stage to run."`
	Session string `arg:"" optional:"" help:"Session name (default the stage's)."`
	Max     *int   `arg:"" optional:"" help:"Maximum iterations (default 25)."`

	Flags
}

// Run implements [cli.Verb].
func (v *Loop) Run(ctx context.Context, a *cli.App) error {
	o, err := v.Options(a)
	switch {
	case err != nil:
		return err
	case v.Stage == "":
		return cli.UsageError("the stage's name is empty", "give the name of a stage")
	case v.Max != nil && *v.Max < 1:
		return cli.UsageError(fmt.Sprintf("a loop cannot have %d iterations", *v.Max), "give a number from 1, or leave it out")
	case v.Resume:
		return v.resume(ctx, a, o, cmp.Or(v.Session, v.Stage), 0)
	}
	o.Stage, o.Session = v.Stage, v.Session
	if v.Max != nil {
		o.Max = *v.Max
	}
	return v.start(ctx, a, startRequest{Run: &o})
}

// Stage is the command line `<stage> [session] [max]`, short for `loop`.
type Stage struct{ Loop }

// Run implements [cli.Verb].
func (v *Stage) Run(ctx context.Context, a *cli.App) error {
	err := v.Loop.Run(ctx, a)
	var missing *engine.NotFoundError
	if errors.As(err, &missing) && missing.Kind == "stage" && missing.Name == v.Stage {
		return unknownWord(ctx, a, missing)
	}
	return err
}

// unknownWord returns the error for a first word that is neither a verb nor a stage.
func unknownWord(ctx context.Context, a *cli.App, missing *engine.NotFoundError) error {
	word := &cli.UnknownWord{NotFoundError: missing, Verb: nearest.Name(missing.Name, cli.CommandNames(a.Parser().Model.Node))}
	_ = a.WithEngine(ctx, func(e *engine.Engine) error { // on an error, the hint on pipelines is missing
		pipelines, err := e.Authoring().Pipelines(ctx)
		if slices.ContainsFunc(pipelines, func(p authoring.PipelineInfo) bool { return p.Name == missing.Name }) {
			word.Verb = "start " + missing.Name
		}
		return err
	})
	return word
}

// Pipeline is the verb `pipeline <file|name> [session] [runs]`.
type Pipeline struct {
	Pipeline string `arg:"" help:"The pipeline's name or file."`
	Session  string `arg:"" optional:"" help:"Session name (default the file's name, or pipeline for a pipeline's name, with the time)."`
	Runs     Runs   `arg:"" optional:"" help:"Number of runs of the whole pipeline (default 1)."`

	Flags
	EntryFlags
}

// Run implements [cli.Verb].
func (v *Pipeline) Run(ctx context.Context, a *cli.App) error {
	o, err := v.Options(a)
	switch {
	case err != nil:
		return err
	case v.Pipeline == "":
		return cli.UsageError("the pipeline's name is empty", "give the name of a pipeline, or the path of its file")
	case v.Resume && v.Session == "":
		return cli.UsageError("--resume needs the session's name", "%s pipeline %s <session> --resume; `%s list` shows the sessions",
			cli.Program, v.Pipeline, cli.Program)
	case v.Resume:
		return v.resume(ctx, a, o, v.Session, v.Runs)
	}
	if err := v.Resolve(ctx, a, &o); err != nil {
		return err
	}
	o.Pipeline, o.Session, o.Runs = v.Pipeline, v.Session, int(v.Runs)
	return v.start(ctx, a, startRequest{Run: &o})
}

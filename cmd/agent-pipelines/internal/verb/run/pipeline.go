package run

import (
	"context"

	"github.com/dodo-digital/agent-pipelines/cmd/agent-pipelines/internal/cli"
)

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

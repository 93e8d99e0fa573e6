package run

import (
	"context"
	"errors"
	"slices"

	"github.com/dodo-digital/agent-pipelines/cmd/agent-pipelines/internal/cli"
	"github.com/dodo-digital/agent-pipelines/engine"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/nearest"
)

// Stage is the short form `<stage> [session] [max]`.
type Stage struct{ Loop }

func (v *Stage) Run(ctx context.Context, a *cli.App) error {
	err := v.Loop.Run(ctx, a)
	var missing *engine.NotFoundError
	if errors.As(err, &missing) && missing.What == "stage" && missing.Name == v.Stage {
		return unknownWord(a, ctx, missing)
	}
	return err
}

// unknownWord explains a first word that is neither a verb nor a stage.
func unknownWord(a *cli.App, ctx context.Context, missing *engine.NotFoundError) error {
	word := &cli.UnknownWord{NotFoundError: missing, Verb: nearest.Name(missing.Name, cli.CommandNames(a.Parser.Model.Node))}
	_ = a.Use(ctx, func(e *engine.Engine) error { // where they cannot be listed, there is one hint less
		pipelines, err := e.Pipelines(ctx)
		if slices.ContainsFunc(pipelines, func(p engine.PipelineInfo) bool { return p.Name == missing.Name }) {
			word.Verb = "start " + missing.Name
		}
		return err
	})
	return word
}

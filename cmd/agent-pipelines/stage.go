package main

import (
	"context"
	"errors"
	"slices"

	"github.com/dodo-digital/agent-pipelines/plugin-sdk/nearest"

	"github.com/dodo-digital/agent-pipelines/engine"
)

// stageVerb is the short form `<stage> [session] [max]`.
type stageVerb struct{ loopVerb }

func (v *stageVerb) run(ctx context.Context, a *app) error {
	err := v.loopVerb.run(ctx, a)
	var missing *engine.NotFoundError
	if errors.As(err, &missing) && missing.What == "stage" && missing.Name == v.Stage {
		return a.unknownWord(ctx, missing)
	}
	return err
}

// unknownWord explains a first word that is neither a verb nor a stage.
func (a *app) unknownWord(ctx context.Context, missing *engine.NotFoundError) error {
	word := &unknownWord{NotFoundError: missing, verb: nearest.Name(missing.Name, commandNames(a.parser.Model.Node))}
	_ = a.use(ctx, func(e *engine.Engine) error { // where they cannot be listed, there is one hint less
		pipelines, err := e.Pipelines(ctx)
		if slices.ContainsFunc(pipelines, func(p engine.PipelineInfo) bool { return p.Name == missing.Name }) {
			word.verb = "start " + missing.Name
		}
		return err
	})
	return word
}

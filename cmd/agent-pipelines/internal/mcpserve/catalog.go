package mcpserve

import (
	"context"

	"github.com/dodo-digital/agent-pipelines/engine"
	"github.com/dodo-digital/agent-pipelines/engine/authoring"
)

type noArguments struct{}

type listPipelinesOut struct {
	Pipelines []authoring.PipelineInfo `json:"pipelines"`
	Stages    []authoring.StageInfo    `json:"stages"`
}

func (s *server) listPipelines(ctx context.Context, _ call, _ noArguments) (out listPipelinesOut, err error) {
	return out, s.Use(ctx, func(e *engine.Engine) error {
		if out.Pipelines, err = e.Authoring().Pipelines(ctx); err != nil {
			return err
		}
		out.Stages, err = e.Authoring().Stages(ctx)
		return err
	})
}

type lintIn struct {
	Pipelines []string `json:"pipelines,omitempty" jsonschema:"names of pipelines, or paths of their files in the project"`
	Stages    []string `json:"stages,omitempty" jsonschema:"names of stages"`
}

type lintOut struct {
	Passed  bool  `json:"passed"`
	Targets []any `json:"targets" jsonschema:"the checked files and their findings, as agent-pipelines lint --json prints them"`
}

func (s *server) lint(ctx context.Context, _ call, in lintIn) (out lintOut, err error) {
	for _, names := range [][]string{in.Pipelines, in.Stages} {
		if err := namesOrPaths(s.Root, names...); err != nil {
			return out, err
		}
	}
	out = lintOut{Passed: true, Targets: []any{}}
	return out, s.Use(ctx, func(e *engine.Engine) error {
		targets, err := e.Authoring().Lint(ctx, authoring.LintOptions{Pipelines: in.Pipelines, Stages: in.Stages})
		if err != nil {
			return err
		}
		for _, t := range targets {
			out.Passed = out.Passed && t.Passed
			out.Targets = append(out.Targets, t)
		}
		return nil
	})
}

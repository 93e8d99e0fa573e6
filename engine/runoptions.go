package engine

import (
	"context"

	"github.com/dodo-digital/agent-pipelines/engine/internal/source"
	"github.com/dodo-digital/agent-pipelines/kernel/compile"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
)

// request returns the options that determine the run's plan and input.
func (o RunOptions) request() source.Request {
	return source.Request{
		Pipeline: o.Pipeline, Text: o.Text, Stage: o.Stage, Max: o.Max, Plan: o.Plan, Runs: o.Runs,
		Session: o.Session, NameAfterPipeline: o.NameAfterPipeline, Fields: o.Fields,
		Overrides: compile.Overrides{
			Provider: o.Provider, Model: o.Model, Context: o.Context, Inputs: o.Inputs, Commands: o.Commands, Sandbox: o.Sandbox, Mode: o.Mode,
			Skip: o.Skip, Timeouts: o.Timeouts, MaxCycles: o.MaxCycles, Timeout: o.Timeout,
			Start: o.Start, ExitAfter: o.ExitAfter, Supervised: o.Supervised, Iterate: o.Iterate, Artifacts: o.Artifacts,
		},
		Env: compile.Env{Provider: o.EnvProvider, Model: o.EnvModel, Context: o.EnvContext},
	}
}

// Compile returns the plan of a run with these options, without running it. Programs can inspect it, store it
// as JSON, or run it several times with [RunOptions].Plan. The error is [Diagnostics] with every fault of the
// files, with file, line and column. A stage's plan runs as a pipeline of one node, not as a loop.
func (e *Engine) Compile(ctx context.Context, o RunOptions) (*plan.Plan, error) {
	src, err := source.New(ctx, e.env, o.request())
	if err != nil {
		return nil, err
	}
	return src.Plan, nil
}

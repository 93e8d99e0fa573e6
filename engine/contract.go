package engine

import (
	"context"

	"github.com/dodo-digital/agent-pipelines/engine/internal/outcome"
	"github.com/dodo-digital/agent-pipelines/engine/internal/steps"
	"github.com/dodo-digital/agent-pipelines/kernel"
	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
)

// Check implements run.Effects.
func (f *effects) Check(ctx context.Context, w kernel.Work) event.Event {
	ctx = f.traced(ctx, w)
	f.maker.Restore(ctx, w.Record)
	f.ready()
	return f.settler.Check(ctx, outcome.Job{Command: w.Command, Node: w.Node, State: w.State})
}

// Settle implements run.Effects.
func (f *effects) Settle(ctx context.Context, w kernel.Work) event.Event {
	f.maker.Restore(ctx, w.Record)
	return f.settler.Evaluate(outcome.Job{Command: w.Command, Node: w.Node, State: w.State})
}

// Inspect implements run.Effects.
func (f *effects) Inspect(_ context.Context, w kernel.Work) event.Event {
	return f.settler.Inspect(outcome.Job{Command: w.Command, Node: w.Node, State: w.State})
}

// PlanSteps implements run.Effects.
func (f *effects) PlanSteps(_ context.Context, w kernel.Work) event.Event {
	return f.planner.Steps(steps.Job{Command: w.Command, Node: w.Node, State: w.State})
}

// checkCheck asks the action that makes checks whether it would work with one of the node's that is made.
func (s *session) checkCheck(ctx context.Context, n *plan.Node, c plan.Check) error {
	if c.LeftOut != "" {
		return nil
	}
	action, err := s.components().HookAction(ctx, &plan.Hook{Action: plan.ActionCheck, Config: c.Config}, n)
	if err != nil {
		return err
	}
	return validate(ctx, action, c.Config)
}

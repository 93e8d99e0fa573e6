package engine

import (
	"context"
	"fmt"
	"time"

	"github.com/dodo-digital/agent-pipelines/engine/internal/attempt"
	"github.com/dodo-digital/agent-pipelines/engine/internal/hook"
	"github.com/dodo-digital/agent-pipelines/engine/internal/outcome"
	"github.com/dodo-digital/agent-pipelines/engine/internal/steps"
	"github.com/dodo-digital/agent-pipelines/engine/internal/termination"
	"github.com/dodo-digital/agent-pipelines/kernel"
	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
)

// effects performs the scheduler's commands with the rooms that can: it implements run.Effects.
type effects struct {
	parts components
	maker *attempt.Runner
	asker *termination.Asker
	hooks *hook.Caller
	ready func() // returns when the views of the run are as new as its state

	settler *outcome.Evaluator
	planner *steps.Planner
	traces  func(event.TraceID) bool // of [WithTraces], nil for none
}

// Attempt implements run.Effects.
func (f *effects) Attempt(ctx context.Context, w kernel.Work) event.Event {
	ctx = f.traced(ctx, w)
	m := *f.maker
	m.Providers = f.components(w.Node)
	return m.Run(ctx, attempt.Job(w))
}

// Strategy implements run.Effects.
func (f *effects) Strategy(ctx context.Context, w kernel.Work) event.Event {
	ctx = f.traced(ctx, w)
	f.maker.Restore(ctx, w.Record) // what it is asked about
	if kind := w.Node.Termination.Type(); kind != plan.TypeFixed && kind != plan.TypeChecks {
		f.ready()
	}
	return f.askerAt(w.Node).Ask(ctx, decision(w))
}

// Hook implements run.Effects.
func (f *effects) Hook(ctx context.Context, w kernel.Work) event.Event {
	ctx = f.traced(ctx, w)
	f.ready()
	return f.hooks.Call(ctx, hook.Job{Command: w.Command, State: w.State, Record: w.Record})
}

func decision(w kernel.Work) termination.Job {
	return termination.Job{Command: w.Command, Node: w.Node, State: w.State, Record: w.Record}
}

// Question implements run.Effects.
func (f *effects) Question(ctx context.Context, w kernel.Work) event.Event {
	ctx = f.traced(ctx, w)
	f.ready()
	return f.askerAt(w.Node).Put(ctx, decision(w), f.components(w.Node))
}

// askerAt asks strategies as a node wants them to be set up.
func (f *effects) askerAt(n *plan.Node) *termination.Asker {
	a := *f.asker
	a.Strategies = f.components(n)
	return &a
}

// Manifest implements run.Effects.
func (f *effects) Manifest(w kernel.Work) (event.Event, error) {
	at := w.Command.Location
	ref, err := f.maker.Inputs.WriteManifest(w.State, at, time.Now())
	return event.New(event.ArtifactWritten, at.Cursor(), w.Command.Key, event.ArtifactWrittenData{Name: event.Manifest, Ref: ref}), err
}

func (f *effects) components(n *plan.Node) nodeComponents { return nodeComponents{f.parts, n} }

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

// traced is the context of an effect, with the place of its call in the trace of the run.
func (f *effects) traced(ctx context.Context, w kernel.Work) context.Context {
	flags, run := 0, event.TraceOf(w.State.RunID)
	if f.traces != nil && f.traces(run) {
		flags = 1
	}
	return sdk.WithTraceParent(ctx, fmt.Sprintf("00-%s-%s-%02d", run, event.SpanOf(w.State.RunID, w.Command.Key.Call(), w.State.Epoch), flags))
}

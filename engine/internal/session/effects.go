package session

import (
	"context"
	"fmt"
	"time"

	"github.com/dodo-digital/agent-pipelines/engine/internal/attempt"
	"github.com/dodo-digital/agent-pipelines/engine/internal/environment"
	"github.com/dodo-digital/agent-pipelines/engine/internal/hook"
	"github.com/dodo-digital/agent-pipelines/engine/internal/outcome"
	"github.com/dodo-digital/agent-pipelines/engine/internal/steps"
	"github.com/dodo-digital/agent-pipelines/engine/internal/termination"
	"github.com/dodo-digital/agent-pipelines/kernel"
	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
)

// effects performs the scheduler's commands. It implements kernel.Effects.
type effects struct {
	components     environment.Components
	runner         *attempt.Runner
	asker          *termination.Asker
	hooks          *hook.Caller
	awaitStateFile func() // waits until state.json reflects the state

	evaluator *outcome.Evaluator
	planner   *steps.Planner
	traces    func(event.TraceID) bool // of the engine's option WithTraces; may be nil
}

// Attempt implements kernel.Effects.
func (f *effects) Attempt(ctx context.Context, w kernel.EffectRequest) event.Event {
	return f.runner.Run(f.withTrace(ctx, w), w)
}

// Strategy implements kernel.Effects.
func (f *effects) Strategy(ctx context.Context, w kernel.EffectRequest) event.Event {
	ctx = f.withTrace(ctx, w)
	f.runner.Restore(ctx, w.Record) // the strategy reads the restored files
	if kind := w.Node.Termination.Type(); kind != plan.TypeFixed && kind != plan.TypeChecks {
		f.awaitStateFile()
	}
	return f.asker.Ask(ctx, w)
}

// Hook implements kernel.Effects.
func (f *effects) Hook(ctx context.Context, w kernel.EffectRequest) event.Event {
	ctx = f.withTrace(ctx, w)
	f.awaitStateFile()
	return f.hooks.Call(ctx, w)
}

// Question implements kernel.Effects.
func (f *effects) Question(ctx context.Context, w kernel.EffectRequest) event.Event {
	ctx = f.withTrace(ctx, w)
	f.awaitStateFile()
	return f.asker.Put(ctx, w, f.components)
}

// Manifest implements kernel.Effects.
func (f *effects) Manifest(w kernel.EffectRequest) (event.Event, error) {
	at := w.Command.Location
	ref, err := f.runner.Inputs.WriteManifest(w.State, at, time.Now())
	return event.New(event.ArtifactWritten, at.Cursor(), w.Command.Key, event.ArtifactWrittenData{Name: event.Manifest, Ref: ref}), err
}

// Check implements kernel.Effects.
func (f *effects) Check(ctx context.Context, w kernel.EffectRequest) event.Event {
	ctx = f.withTrace(ctx, w)
	f.runner.Restore(ctx, w.Record)
	f.awaitStateFile()
	return f.evaluator.Check(ctx, w)
}

// SettleIteration implements kernel.Effects.
func (f *effects) SettleIteration(ctx context.Context, w kernel.EffectRequest) event.Event {
	f.runner.Restore(ctx, w.Record)
	return f.evaluator.Evaluate(ctx, w)
}

// Inspect implements kernel.Effects.
func (f *effects) Inspect(_ context.Context, w kernel.EffectRequest) event.Event {
	return f.evaluator.Inspect(w)
}

// PlanSteps implements kernel.Effects.
func (f *effects) PlanSteps(_ context.Context, w kernel.EffectRequest) event.Event {
	return f.planner.Steps(w)
}

// withTrace adds the trace context of an effect's call to ctx.
func (f *effects) withTrace(ctx context.Context, w kernel.EffectRequest) context.Context {
	flags, run := 0, event.RunTraceID(w.State.RunID)
	if f.traces != nil && f.traces(run) {
		flags = 1
	}
	return sdk.WithTraceParent(ctx, fmt.Sprintf("00-%s-%s-%02d", run, event.KeySpanID(w.State.RunID, w.Command.Key.CallKey(), w.State.Epoch), flags))
}

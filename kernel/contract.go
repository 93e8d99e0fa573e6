package kernel

import (
	"context"

	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/internal/run"
)

// Check implements run.Effects.
func (f *effects) Check(_ context.Context, w run.Work) event.Event {
	return event.New(event.CheckResult, w.Command.Place.Cursor(), w.Command.Key, event.CheckResultData{ID: w.Command.Check})
}

// Settle implements run.Effects.
func (f *effects) Settle(_ context.Context, w run.Work) event.Event {
	return event.New(event.IterationComplete, w.Command.Place.Cursor(), w.Command.Key, event.IterationCompleteData{})
}

// PlanSteps implements run.Effects.
func (f *effects) PlanSteps(_ context.Context, w run.Work) event.Event {
	return event.New(event.StepsPlanned, w.Command.Place.Cursor(), w.Command.Key, event.StepsPlannedData{})
}

package dryrun

import (
	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/state"
)

// note keeps what an event says of the visit that it belongs to.
func (w *walker) note(e event.Event) error {
	if e.Type == event.NodeStart {
		step := Step{Node: e.Cursor.NodePath, Run: w.state.Run}
		if n := w.plan.Find(step.Node); n != nil {
			step.ID = n.ID
		}
		w.steps = append(w.steps, step)
	}
	step := w.open(e)
	if step == nil {
		return nil
	}
	switch e.Type {
	case event.IterationStart:
		passes := w.passes(step.Node)
		if e.Cursor.Step == "" {
			step.Iterations++
		}
		if e.Cursor.Step != "" || !passes { // what passes over steps calls no agent itself
			step.Attempts++
		}
	case event.Retry:
		d, err := event.Decode[event.RetryData](e)
		if d.Rung != event.RungStage {
			step.Attempts++
		}
		return err
	case event.TimerSet:
		d, err := event.Decode[event.TimerSetData](e)
		if d.Purpose != state.PurposeGuardrail {
			step.Waiting += d.After
		}
		return err
	case event.NodeComplete:
		d, err := event.Decode[event.NodeCompleteData](e)
		step.Outcome, step.Reason, step.To = d.Outcome, d.Reason, d.To
		step.Edge, step.Cycle, step.Limit = d.Edge, d.Cycle, d.Limit
		return err
	}
	return nil
}

// open is the visit that an event belongs to: the newest one of its node. It is nil for events of no node.
func (w *walker) open(e event.Event) *Step {
	if e.Cursor == nil {
		return nil
	}
	for i := len(w.steps) - 1; i >= 0; i-- {
		if w.steps[i].Node == e.Cursor.NodePath {
			return &w.steps[i]
		}
	}
	return nil
}

// passes reports whether the node at a path runs once for each of its steps.
func (w *walker) passes(path string) bool {
	n := w.plan.Find(path)
	return n != nil && n.Steps != nil
}

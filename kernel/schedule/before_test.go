package schedule_test

import (
	"testing"

	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/kernel/schedule"
	"github.com/dodo-digital/agent-pipelines/kernel/state"
)

func checkedBefore() *plan.Plan {
	return stages(plan.Node{Termination: plan.Termination{"type": "queue", "max": 5, "check_before": true}})
}

// Parity case check-before: under check_before the strategy is asked when the first iteration has begun and
// before its attempt, and a stage with nothing to do calls no agent.
func TestCheckBeforeStops(t *testing.T) {
	h := newHistory(t, checkedBefore())
	h.commit() // node_start
	if l := h.state.Nodes["0"].Loop; l.Iteration != 1 || l.Completed != 0 || l.IterationStartedAt == nil {
		t.Fatalf("loop %s", asJSON(l))
	}
	if c := h.due(); c.Kind != schedule.Strategy || c.Place.Iteration != 0 || c.Key != "decide:0/v1/r1/-/-/i0#1" {
		t.Fatalf("due %s", asJSON(c))
	}
	h.decide("stop")
	if c, want := h.due(), (event.Cursor{NodePath: "0"}); c.Event.Type != event.NodeComplete || *c.Event.Cursor != want {
		t.Errorf("due %s", asJSON(c))
	}
	h.commit()
	if n := h.state.Nodes["0"]; h.state.Status != state.Completed || n.Loop.Completed != 0 || n.Loop.IterationStartedAt != nil || h.state.Reason != "all_loops_complete" {
		t.Errorf("state %s", asJSON(h.state))
	}
}

// After a "continue" the first iteration begins at once, without the delay between iterations.
func TestCheckBeforeGoesOn(t *testing.T) {
	h := newHistory(t, checkedBefore())
	h.commit()
	h.decide("continue")
	if c := h.due(); c.Kind != schedule.Attempt || c.Event.Type != event.AttemptStart || c.Place.Iteration != 1 {
		t.Fatalf("due %s", asJSON(c))
	}
	h.complete(h.commit(), "")
	h.decide("stop")
	h.commit()
	if n := h.state.Nodes["0"]; n.Status != state.NodeComplete || n.Loop.Completed != 1 {
		t.Errorf("state %s", asJSON(h.state))
	}
}

// A run that failed because the first question could not be answered asks it again when it is resumed.
func TestCheckBeforeIsAskedAgain(t *testing.T) {
	h := newHistory(t, checkedBefore())
	h.commit()
	h.decide("error")
	h.commit()
	if h.state.Status != state.Failed {
		t.Fatalf("state %s", asJSON(h.state))
	}
	h.kernel()
	h.add(event.New(event.SessionResumed, nil, "", event.SessionResumedData{}))
	h.commit() // the iteration begins again
	if c := h.due(); c.Kind != schedule.Strategy || c.Place.Iteration != 0 {
		t.Errorf("due %s", asJSON(c))
	}
}

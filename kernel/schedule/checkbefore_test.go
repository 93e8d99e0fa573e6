package schedule_test

import (
	"testing"

	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/kernel/schedule"
	"github.com/dodo-digital/agent-pipelines/kernel/state"
)

func checkBeforePlan() *plan.Plan {
	return stages(plan.Node{Termination: plan.Termination{"type": "queue", "max": 5, "check_before": true}})
}

// Parity case check-before: under check_before the strategy is asked when the first iteration has begun and
// before its attempt, and a stage with nothing to do calls no agent.
func TestCheckBeforeStops(t *testing.T) {
	h := newHistory(t, checkBeforePlan())
	h.commit() // node_start
	if l := h.state.Nodes["0"].Loop; l.Iteration != 1 || l.Completed != 0 || l.IterationStartedAt == nil {
		t.Fatalf("loop %s", asJSON(l))
	}
	if c := h.nextCommand(); c.Kind != schedule.Strategy || c.Location.Iteration != 0 || c.Key != "decide:0/v1/r1/-/-/i0#1" {
		t.Fatalf("due %s", asJSON(c))
	}
	h.decide("stop")
	if c, want := h.nextCommand(), (event.Cursor{NodePath: "0"}); c.Event.Type != event.NodeComplete || *c.Event.Cursor != want {
		t.Errorf("due %s", asJSON(c))
	}
	h.commit()
	if n := h.state.Nodes["0"]; h.state.Status != state.Completed || n.Loop.Completed != 0 || n.Loop.IterationStartedAt != nil || h.state.Reason != "all_loops_complete" {
		t.Errorf("state %s", asJSON(h.state))
	}
}

// After "continue" the first iteration begins at once, without the delay between iterations.
func TestCheckBeforeContinues(t *testing.T) {
	h := newHistory(t, checkBeforePlan())
	h.commit()
	h.decide("continue")
	if c := h.nextCommand(); c.Kind != schedule.Attempt || c.Event.Type != event.AttemptStart || c.Location.Iteration != 1 {
		t.Fatalf("due %s", asJSON(c))
	}
	h.complete(h.commit(), "")
	h.decide("stop")
	h.commit()
	if n := h.state.Nodes["0"]; n.Status != state.NodeComplete || n.Loop.Completed != 1 {
		t.Errorf("state %s", asJSON(h.state))
	}
}

// A run that failed because the first question could not be answered repeats it after a resume.
func TestCheckBeforeAfterResume(t *testing.T) {
	h := newHistory(t, checkBeforePlan())
	h.commit()
	h.decide("error")
	h.commit()
	h.requireStatus(state.Failed)
	h.startKernel()
	h.add(event.New(event.SessionResumed, nil, "", event.SessionResumedData{}))
	h.commit() // the iteration begins again
	if c := h.nextCommand(); c.Kind != schedule.Strategy || c.Location.Iteration != 0 {
		t.Errorf("due %s", asJSON(c))
	}
}

// K17: an agent's stop is its hint to the strategy. Only a stage with a fixed number of iterations drops one after
// the last iteration that its history does not show, because its plan ends it. Strategies that count the hints
// receive all of them.
func TestAgentHint(t *testing.T) {
	for _, tt := range []struct {
		name, strategy, decision string
		iteration                int // of two
		want                     string
	}{
		{"fixed, before the last", "fixed", "continue", 1, "stop"},
		{"fixed, the last", "fixed", "continue", 2, ""},
		{"fixed, the last, as history has it", "fixed", "stop", 2, "stop"},
		{"another, before the last", "judgment", "continue", 1, "stop"},
		{"another, the last", "judgment", "continue", 2, "stop"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			delay := 0.0
			h := newHistory(t, stages(plan.Node{Delay: &delay, Termination: plan.Termination{"type": tt.strategy, "max": 2}}))
			for range tt.iteration - 1 {
				h.iterate("")
				h.decide("continue")
			}
			c := h.commit()
			h.add(event.New(event.IterationComplete, c.Location.Cursor(), c.Key, event.IterationCompleteData{Decision: tt.decision, AgentDecision: "stop"}))
			if got := h.state.Nodes["0"].Loop.Hint; got != tt.want {
				t.Errorf("it hears %q, want %q", got, tt.want)
			}
		})
	}
}

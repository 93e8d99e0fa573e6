package schedule_test

import (
	"testing"

	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
)

// K17: an agent's stop steers. Only a stage of a fixed number of iterations passes over one after the last of them
// that its history does not show: it ends by its plan then. A strategy that counts the agents' wishes hears them all.
func TestWhatTheStrategyHears(t *testing.T) {
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
			h.add(event.New(event.IterationComplete, c.Location.Cursor(), c.Key, event.IterationCompleteData{Decision: tt.decision, Ask: "stop"}))
			if got := h.state.Nodes["0"].Loop.Hint; got != tt.want {
				t.Errorf("it hears %q, want %q", got, tt.want)
			}
		})
	}
}

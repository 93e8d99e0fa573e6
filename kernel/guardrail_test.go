package kernel

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/kernel/state"
)

// U090: when the time is used up, everything in flight is cancelled with that cause and waited for; nothing follows
// the event that ends the run.
func TestGuardrailCancels(t *testing.T) {
	tests := []struct {
		name  string
		world fakeEffects
		last  []event.Type
	}{
		{"an attempt", fakeEffects{attempt: untilCancelled}, []event.Type{"timer_fired", "error", "node_complete"}},
		{"a decision", fakeEffects{strategy: slowStrategy(time.Hour)}, []event.Type{"timer_fired", "decision", "node_complete"}},
		{"an attempt that does not listen", fakeEffects{attempt: func(_ context.Context, w EffectRequest) event.Event {
			time.Sleep(time.Minute)
			return completeEvent(w)
		}}, []event.Type{"iteration_complete", "decision", "node_complete"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p, j := twoStages(), &journal{}
				p.Pipeline = plan.Pipeline{Name: "short", Guardrails: &plan.Guardrails{MaxRuntimeSeconds: 1.5, Source: "p.yaml:2:1"}}
				started := time.Now()
				st := must(Run(t.Context(), Config{Plan: p, Journal: j, Effects: tt.world}, startState(t, p, j)))
				want := `pipeline "short" exceeded its max_runtime_seconds: it ran 1.5s of 1.5s (guardrails, p.yaml:2:1)`
				if st.Status != state.Failed || st.Failure.ErrorType != "iteration_timeout" || st.Failure.Message != want {
					t.Errorf("%s: %+v", st.Status, st.Failure)
				}
				types := j.types()
				if diff := cmp.Diff(tt.last, types[len(types)-3:]); diff != "" {
					t.Errorf("last events (-want +got):\n%s", diff)
				}
				if took := time.Since(started); took != 1500*time.Millisecond && took != time.Minute {
					t.Errorf("took %s", took)
				}
			})
		})
	}
}

// A guardrail does not delay a run that ends in time.
func TestGuardrailThatIsNotReached(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, j := twoStages(), &journal{}
		p.Pipeline.Guardrails = &plan.Guardrails{MaxRuntimeSeconds: 3600}
		started := time.Now()
		st, err := Run(t.Context(), Config{Plan: p, Journal: j, Effects: fakeEffects{}}, startState(t, p, j))
		if err != nil || st.Status != state.Completed || time.Since(started) != 3*time.Second {
			t.Errorf("%s after %s: %v", st.Status, time.Since(started), err)
		}
	})
}

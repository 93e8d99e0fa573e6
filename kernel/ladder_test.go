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
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
)

// D3, U124, U125: a step that always fails is called twelve times, with pauses of 1, 2 and 4 s within each of three
// stage attempts and none between them; then the user is asked.
func TestRetryLadderOfAStep(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, j := twoStages(), &journal{}
		p.Nodes[0].Termination["max"] = 1
		p.Nodes[1].Steps = &plan.Steps{From: "a"}
		var calls []time.Time
		failing := fakeEffects{attempt: func(_ context.Context, w EffectRequest) event.Event {
			if w.Command.Location.Step != "one" {
				return completeEvent(w)
			}
			calls = append(calls, time.Now())
			return failedEvent(w, failure.New(failure.ProviderFailed, "no server"))
		}}
		st := must(Run(t.Context(), Config{Plan: p, Journal: j, Effects: failing}, startState(t, p, j)))
		var gaps []time.Duration
		for i := 1; i < len(calls); i++ {
			gaps = append(gaps, calls[i].Sub(calls[i-1]))
		}
		s := time.Second
		if diff := cmp.Diff([]time.Duration{s, 2 * s, 4 * s, 0, s, 2 * s, 4 * s, 0, s, 2 * s, 4 * s}, gaps); diff != "" {
			t.Errorf("%d calls, gaps:\n%s", len(calls), diff)
		}
		if st.Status != state.Paused || st.PauseKind != state.PauseEscalation || st.PauseCode != "ACODE-ORCH-004" {
			t.Errorf("%s %s %s", st.Status, st.PauseKind, st.PauseCode)
		}
	})
}

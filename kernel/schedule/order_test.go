package schedule_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/kernel/schedule"
	"github.com/dodo-digital/agent-pipelines/kernel/state"
)

// DESIGN 8: what a crash cut off in a block is charged in the same order whenever the journal is replayed: a sum of
// fractions depends on it.
func TestCutOffIsChargedInOrder(t *testing.T) {
	p := &plan.Plan{
		Pipeline: plan.Pipeline{Policy: &plan.Policy{Cost: &plan.Cost{MaxUSD: 100}}},
		Nodes:    []plan.Node{{Path: "0", ID: "both", Kind: plan.KindParallel}},
	}
	n := state.Node{Visit: 1, Status: state.NodeRunning, Branches: map[string]state.Branch{}}
	for i := range 12 {
		part := 0.1 + float64(i)/3
		n.Branches[fmt.Sprint("b", i)] = state.Branch{
			Status: state.NodeRunning, Loop: state.Loop{Phase: state.PhaseAttempt, Attempt: 1, Reserved: map[string]state.Amount{"": {USD: &part}}},
		}
	}
	s := state.State{RunID: "r", Session: "s", Status: state.Running, At: "0", Nodes: map[string]state.Node{"0": n}}
	started := event.New(event.KernelStart, nil, "", event.KernelStartData{PID: 1})
	started.Epoch = 1
	var want float64
	for i := range 50 {
		next, err := schedule.Apply(p, s, started)
		if err != nil {
			t.Fatal(err)
		}
		if i == 0 {
			want = next.Charges[""].USD
		}
		if diff := cmp.Diff(want, next.Charges[""].USD); diff != "" || want == 0 {
			t.Fatalf("after %d times: %s", i, diff)
		}
	}
}

package schedule_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/kernel/progress"
	"github.com/dodo-digital/agent-pipelines/kernel/state"
)

// DESIGN 8: interrupted calls in a block are charged in the same order in every replay, because a sum of fractions
// depends on it.
func TestCutOffIsChargedInOrder(t *testing.T) {
	p := &plan.Plan{
		Pipeline: plan.Pipeline{Policy: &plan.Policy{Cost: &plan.Cost{MaxUSD: 100}}},
		Nodes:    []plan.Node{{Path: "0", ID: "both", Kind: plan.KindParallel}},
	}
	n := state.Node{NodeProgress: state.NodeProgress{Visit: 1, Status: state.NodeRunning}, NodeLoops: state.NodeLoops{Branches: map[string]state.Branch{}}}
	for i := range 12 {
		part := 0.1 + float64(i)/3
		n.Branches[fmt.Sprint("b", i)] = state.Branch{
			Status: state.NodeRunning, Loop: state.Loop{Progress: state.Progress{Phase: state.PhaseAttempt, Attempt: 1}, CallInFlight: state.CallInFlight{Reserved: map[string]state.Amount{"": {USD: &part}}}},
		}
	}
	s := state.State{Identity: state.Identity{RunID: "r", Session: "s"}, Lifecycle: state.Lifecycle{Status: state.Running}, Position: state.Position{At: "0", Nodes: map[string]state.Node{"0": n}}}
	started := event.New(event.KernelStart, nil, "", event.KernelStartData{PID: 1})
	started.Epoch = 1
	var want float64
	for i := range 50 {
		next := must(progress.Apply(p, s, started))
		if i == 0 {
			want = next.Charges[""].USD
		}
		if diff := cmp.Diff(want, next.Charges[""].USD); diff != "" || want == 0 {
			t.Fatalf("after %d times: %s", i, diff)
		}
	}
}

// U255: a node that the user restarts is entered again, and its pending retry is dropped; an impossible restart
// returns a reason.
func TestEnterAgain(t *testing.T) {
	p := &plan.Plan{Nodes: []plan.Node{{Path: "0", ID: "plan", Kind: plan.KindStage}, {Path: "1", ID: "review", Kind: plan.KindStage}, {Path: "2", ID: "last", Kind: plan.KindStage}}}
	at := func(status state.Status, where string) state.State {
		return state.State{
			Identity: state.Identity{RunID: "r", Session: "s"}, Lifecycle: state.Lifecycle{Status: status}, Position: state.Position{
				At: where,
				Nodes: map[string]state.Node{
					"0": {NodeProgress: state.NodeProgress{Visit: 1, Status: state.NodeComplete}},
					"1": {NodeProgress: state.NodeProgress{Visit: 1, Status: state.NodeRunning}, NodeLoops: state.NodeLoops{Loop: state.Loop{Progress: state.Progress{Phase: state.PhaseBackoff, Attempt: 1}}}},
				},
			},
			Limits: state.Limits{Timers: map[event.Key]state.Timer{"timer:1/v1/r1/-/-/i1#1": {Purpose: "backoff"}}},
		}
	}
	for _, tt := range []struct {
		name, path string
		s          state.State
		can        bool
	}{
		{"where it rests", "1", at(state.Paused, "1"), true},
		{"where it failed", "1", at(state.Failed, "1"), true},
		{"once it is complete", "0", at(state.Completed, ""), true},
		{"elsewhere", "0", at(state.Paused, "1"), false},
		{"not run yet", "2", at(state.Completed, ""), false},
		{"at work", "1", at(state.Running, "1"), false},
		{"aborted", "1", at(state.Aborted, "1"), false},
		{"no place", "7", at(state.Completed, ""), false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			next, err := progress.Apply(p, tt.s, event.New(event.SessionResumed, nil, "", event.SessionResumedData{ReenterNode: tt.path}))
			if got := err == nil; got != tt.can || got != (progress.CheckReentry(p, tt.s, tt.path) == nil) {
				t.Fatalf("%v, want %v", err, tt.can)
			}
			if tt.can && (next.Status != state.Running || next.At != tt.path || next.Nodes[tt.path].Restart == nil || len(next.Timers) > 0) {
				t.Errorf("%+v", next)
			}
		})
	}
}

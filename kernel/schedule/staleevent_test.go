package schedule_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/kernel/progress"
	"github.com/dodo-digital/agent-pipelines/kernel/schedule"
	"github.com/dodo-digital/agent-pipelines/kernel/state"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
)

// U048: at any point, an event with unreadable data is refused without a change, or applied completely if its data
// does not matter.
func TestUnreadableDataIsAtomic(t *testing.T) {
	checkRuns(t, func(t *rapid.T, s *simulation) {
		for i, e := range s.journal[1:] {
			before, after := s.states[i], s.states[i+1]
			e.Data = json.RawMessage(`["nonsense"]`)
			got, err := progress.Apply(s.plan, before, e)
			want := after
			if err != nil {
				want = before
			}
			if diff := cmp.Diff(asJSON(want), asJSON(got)); diff != "" {
				t.Fatalf("%s, error %v:\n%s", e.Type, err, diff)
			}
		}
	})
}

// Tool calls that the kernel decides on are kept for a resume: open calls, and finished calls until a checkpoint.
// Observed calls are not kept.
func TestToolCallsAreKept(t *testing.T) {
	h := newHistory(t, stages(plan.Node{}))
	c := h.commit()
	add := func(typ event.Type, data any) { h.add(event.New(typ, c.Location.Cursor(), c.Key, data)) }
	call := func(id, effect string) {
		add(event.ToolCall, event.ToolCallData{CallID: id, Tool: "pay", Effect: effect, Verdict: "run"})
	}
	kept := func(want ...string) {
		t.Helper()
		var got []string
		for _, c := range h.loop().Calls {
			ended := ""
			if c.Result != nil {
				ended = " " + c.Result.Status
			}
			got = append(got, c.Call.CallID+ended)
		}
		compare(t, want, got)
	}
	call("1", "once")
	add(event.ToolCall, event.ToolCallData{CallID: "seen", Tool: "read", Observed: true})
	add(event.ToolResult, event.ToolResultData{CallID: "seen", Status: "ok", Observed: true})
	kept("1")
	add(event.ToolResult, event.ToolResultData{CallID: "1", Status: "ok"})
	call("2", "idempotent")
	kept("1 ok", "2")
	call("2", "idempotent") // requested again
	kept("1 ok", "2")
	add(event.Checkpoint, event.CheckpointData{Turn: 3, Blob: event.Ref{Path: "checkpoint-3"}})
	kept("2")
	l := h.loop()
	require(t, l.Checkpoint != nil && l.Checkpoint.Turn == 3, l.Checkpoint)
	h.startKernel() // a crash: the open call may be repeated, so no question is asked
	next := h.commit()
	require(t, next.Kind == schedule.Attempt, next)
	kept("2")

	late := event.New(event.ToolCall, c.Location.Cursor(), "attempt:0/v9/r1/-/-/i1#1", event.ToolCallData{CallID: "3"})
	if _, err := progress.Apply(h.plan, h.state, late); !isInvalidTransition(err) {
		t.Errorf("a call of another attempt: %v", err)
	}
}

// An event at the wrong time is refused with a reason and does not change the state.
func TestInvalidTransitions(t *testing.T) {
	h := newHistory(t, stages(plan.Node{}))
	c := h.commit()
	cursor := c.Location.Cursor()
	for name, e := range map[string]event.Event{
		"a node that is at work":       event.New(event.NodeStart, cursor, "", nil),
		"another node's start":         event.New(event.NodeStart, &event.Cursor{NodePath: "7"}, "", nil),
		"another node's end":           event.New(event.NodeComplete, &event.Cursor{NodePath: "7"}, "", event.NodeCompleteData{}),
		"an unknown target":            event.New(event.NodeComplete, cursor, "", event.NodeCompleteData{To: "7", Status: "complete"}),
		"a decision without iteration": event.New(event.Decision, cursor, c.Location.Key(event.KeyDecide, 1), event.DecisionData{Action: "stop"}),
		"a timer that was not set":     event.New(event.TimerFired, nil, "timer:0/v1/r1/-/-/i1#1", nil),
		"an answer to no question":     event.New(event.StrategyAnswer, cursor, c.Location.Key(event.KeyQuestion, 1), event.StrategyAnswerData{}),
		"a failure of another attempt": event.New(event.Error, cursor, c.Location.Key(event.KeyAttempt, 5), event.FailureData{ErrorType: string(failure.ProviderCrashed)}),
	} {
		e.Seq, e.Epoch = h.state.Seq+1, h.state.Epoch
		after, err := progress.Apply(h.plan, h.state, e)
		if !isInvalidTransition(err) || err.Error() == "" {
			t.Errorf("%s: %v", name, err)
		}
		if diff := cmp.Diff(asJSON(h.state), asJSON(after)); diff != "" {
			t.Errorf("%s changed the state:\n%s", name, diff)
		}
	}
}

// Interrupted calls in a block are charged in the same order in every replay, because a sum of fractions depends on the
// order.
func TestInterruptedCallsAreChargedInOrder(t *testing.T) {
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
		compare(t, want, next.Charges[""].USD)
		require(t, want != 0, i)
	}
}

// U255: a node that the user restarts is entered again, and its pending retry is dropped; an impossible restart
// returns a reason.
func TestReenterNode(t *testing.T) {
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
		{"past the last node", "0", at(state.Failed, ""), false},
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

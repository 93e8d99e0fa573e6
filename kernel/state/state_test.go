package state

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/dodo-digital/agent-pipelines/kernel/event"
)

// U041, K13: the whole table of transitions.
func TestTransitions(t *testing.T) {
	all := []Status{Pending, Running, Paused, Completed, Failed, Aborted}
	allowed := map[Status][]Status{
		Pending: {Running}, Running: {Paused, Completed, Failed, Aborted}, Paused: {Running, Aborted}, Failed: {Running, Aborted},
	}
	for _, from := range all {
		var got []Status
		for _, to := range all {
			if from.CanBecome(to) {
				got = append(got, to)
			}
		}
		if diff := cmp.Diff(allowed[from], got); diff != "" {
			t.Errorf("from %s:\n%s", from, diff)
		}
		if from.Final() != (len(got) == 0) {
			t.Errorf("%s is final: %v, but %v can follow", from, from.Final(), got)
		}
	}
}

// Changing a clone never changes the original.
func TestCloneSharesNothing(t *testing.T) {
	original := State{
		Position: Position{Nodes: map[string]Node{"0": {
			NodeLoops: NodeLoops{
				Loop:     Loop{StrategyState: StrategyState{Decisions: []Decision{{Action: "stop"}}}, CallInFlight: CallInFlight{Calls: []Call{{Call: event.ToolCallData{CallID: "1"}}}}},
				Branches: map[string]Branch{"claude": {Loop: Loop{StrategyState: StrategyState{Decisions: []Decision{{Action: "stop"}}}}}},
				Steps:    map[string]Step{"s": {Loop: Loop{StrategyState: StrategyState{Decisions: []Decision{{Action: "stop"}}}}}},
			},
			Artifacts: map[string]event.Ref{"plan": {Path: "a"}},
		}}},
		Limits: Limits{Timers: map[event.Key]Timer{"t": {Purpose: "delay"}}, Cycles: map[string]Cycle{"e": {Reasons: []string{"r"}}}}, RunCounts: RunCounts{PriorRuns: map[string]int{"0": 1}, PriorVisits: map[string]int{"0": 1}},
		OpenQuestions: OpenQuestions{Questions: map[string]Question{"q": {Kind: "tool"}}}, UserInput: UserInput{Handled: []string{"1"}},
	}
	before := marshalText(t, original)
	c := original.Clone()
	n := c.Nodes["0"]
	n.Loop.Decisions[0].Action, n.Loop.Calls[0].Call.CallID = "x", "x"
	n.Branches["claude"].Loop.Decisions[0].Action, n.Steps["s"].Loop.Decisions[0].Action = "x", "x"
	n.Artifacts["plan"] = event.Ref{Path: "x"}
	c.Nodes["1"], c.Timers["x"], c.Questions["x"], c.PriorRuns["0"], c.PriorVisits["0"] = Node{}, Timer{}, Question{}, 2, 2
	c.Cycles["e"].Reasons[0], c.Handled[0] = "x", "x"
	if diff := cmp.Diff(before, marshalText(t, original)); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(marshalText(t, State{}), marshalText(t, State{}.Clone())); diff != "" {
		t.Error(diff)
	}
}

func TestLoopAt(t *testing.T) {
	s := State{Position: Position{Nodes: map[string]Node{
		"0": {NodeLoops: NodeLoops{Loop: Loop{Progress: Progress{Iteration: 1}}}},
		"1": {NodeLoops: NodeLoops{Branches: map[string]Branch{"a": {Loop: Loop{Progress: Progress{Iteration: 2}}}, "b": {Loop: Loop{Progress: Progress{Iteration: 3}}}}}},
	}}}
	for want, loc := range []event.Location{1: {Node: "0"}, 2: {Node: "1.0", Branch: "a"}, 3: {Node: "1.4", Branch: "b"}} {
		if got := s.LoopAt(loc).Iteration; got != want {
			t.Errorf("loop at %+v is in iteration %d, want %d", loc, got, want)
		}
	}
	if l := s.LoopAt(event.Location{Node: "1.0", Branch: "c"}); l.Phase != "" || l.Iteration != 0 {
		t.Errorf("a provider that did not begin is at %+v", l)
	}
}

// The Bash engine's names (BASH-BEHAVIOUR 4.3).
func TestEndedBy(t *testing.T) {
	for _, tt := range []struct{ strategy, reason, want string }{
		{"fixed", "Completed 2 iterations (max: 2)", "fixed"},
		{"judgment", "flat", "plateau"},
		{"judgment", "max_iterations", "max_iterations"},
		{"queue", "All beads complete", "queue"},
	} {
		if got := (BranchStage{Reason: tt.reason}).EndedBy(tt.strategy); got != tt.want {
			t.Errorf("%s that ended with %q: %s, want %s", tt.strategy, tt.reason, got, tt.want)
		}
	}
}

func TestParse(t *testing.T) {
	s, err := Parse([]byte(`{"session":"s","event_seq":7,"nodes":{"0":{"visit":1,"loop":{"phase":"decide"}}}}`))
	if err != nil || s.Seq != 7 || s.Nodes["0"].Loop.Phase != PhaseDecide {
		t.Errorf("%+v, %v", s, err)
	}
	if _, err := Parse([]byte("{")); err == nil {
		t.Error("half a state was read")
	}
}

func marshalText(t *testing.T, s State) string {
	t.Helper()
	b, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

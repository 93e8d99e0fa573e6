package preview_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/internal/preview"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/kernel/state"
)

func seconds(s float64) *float64 { return &s }

func stage(path, id string, termination plan.Termination) plan.Node {
	return plan.Node{
		Path: path, ID: id, Kind: plan.KindStage, Termination: termination, Delay: seconds(2),
		Provider: &plan.Provider{Type: "agent", Model: "big"}, Prompt: "do it",
	}
}

func fixed(n int) plan.Termination { return plan.Termination{"type": "fixed", "max": n} }

func block(path, id string) plan.Node {
	return plan.Node{
		Path: path, ID: id, Kind: plan.KindParallel, Providers: []plan.BlockProvider{{Name: "agent"}, {Name: "agent", As: "other"}},
		Stages: []plan.Node{{
			Path: path + ".0", ID: "inner", Kind: plan.KindStage, Termination: fixed(2), Delay: seconds(0), Prompt: "do it",
		}},
	}
}

var start = event.SessionStartData{Mode: "pipeline", Providers: map[string]event.Provider{"agent": {Type: "agent", Model: "big"}}}

// U017: the way is the scheduler's own, under the outcomes assumed.
func TestWalk(t *testing.T) {
	judged := plan.Termination{"type": "judgment", "min_iterations": 2, "max": 9}
	for name, tt := range map[string]struct {
		nodes   []plan.Node
		assumed map[string]preview.Outcome
		status  state.Status
		want    []preview.Step
	}{
		"nothing to do": {nil, nil, state.Completed, nil},
		"success": {
			[]plan.Node{stage("0", "a", fixed(3)), stage("1", "b", judged)},
			nil, state.Completed,
			[]preview.Step{
				{Node: "0", ID: "a", Iterations: 3, Attempts: 3, Waiting: 4 * time.Second, Outcome: "success", Reason: "Completed 3 iterations (max: 3)", To: "1"},
				{Node: "1", ID: "b", Iterations: 2, Attempts: 2, Waiting: 2 * time.Second, Outcome: "success", Reason: "assumed to say stop", To: "done"},
			},
		},
		"failure": {
			[]plan.Node{stage("0", "a", fixed(3)), stage("1", "b", judged)},
			map[string]preview.Outcome{"a": preview.Fail},
			state.Failed,
			[]preview.Step{{Node: "0", ID: "a", Iterations: 1, Attempts: 1, Outcome: "error", Reason: "assumed to fail", To: "failed"}},
		},
		"a retry": {
			[]plan.Node{stage("0", "a", fixed(1))},
			map[string]preview.Outcome{"a": preview.Retry},
			state.Completed,
			[]preview.Step{{Node: "0", ID: "a", Iterations: 1, Attempts: 2, Waiting: 2 * time.Second, Outcome: "success", Reason: "Completed 1 iterations (max: 1)", To: "done"}},
		},
		"the agent says stop": {
			[]plan.Node{stage("0", "a", fixed(5))},
			map[string]preview.Outcome{"a": preview.Stop},
			state.Completed,
			[]preview.Step{{Node: "0", ID: "a", Iterations: 1, Attempts: 1, Outcome: "success", Reason: "Agent requested stop at iteration 1", To: "done"}},
		},
		"the agent reports an error": {
			[]plan.Node{stage("0", "a", fixed(5))},
			map[string]preview.Outcome{"a": preview.Error},
			state.Failed,
			[]preview.Step{{Node: "0", ID: "a", Iterations: 1, Attempts: 1, Outcome: "error", Reason: "assumed to say error", To: "failed"}},
		},
		"a block": {
			[]plan.Node{block("0", "both"), stage("1", "b", fixed(1))},
			nil, state.Completed,
			[]preview.Step{
				{Node: "0", ID: "both", Iterations: 4, Attempts: 4, Outcome: "success", To: "1"},
				{Node: "1", ID: "b", Iterations: 1, Attempts: 1, Outcome: "success", Reason: "Completed 1 iterations (max: 1)", To: "done"},
			},
		},
		"a block that fails": {
			[]plan.Node{block("0", "both")},
			map[string]preview.Outcome{"both": preview.Fail},
			state.Failed,
			[]preview.Step{{
				Node: "0", ID: "both", Iterations: 2, Attempts: 2, Outcome: "error", To: "failed",
				Reason: "Parallel block 'both' failed. Failed providers: agent, other: assumed to fail",
			}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			p := &plan.Plan{Version: plan.Version, Nodes: tt.nodes}
			way, err := preview.Walk(p, "s", start, tt.assumed)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, way.Steps); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if way.Status != tt.status || way.CutOff {
				t.Errorf("status %s, cut off %v", way.Status, way.CutOff)
			}
		})
	}
}

// The nodes of an embedded pipeline are walked once for each of its runs.
func TestWalkIntoAnEmbeddedPipeline(t *testing.T) {
	inner := &plan.Plan{Version: plan.Version, Nodes: []plan.Node{stage("0", "x", fixed(2))}}
	p := &plan.Plan{Nodes: []plan.Node{{Path: "0", ID: "sub", Kind: plan.KindPipeline, Runs: 2, Plan: inner}, stage("1", "b", fixed(1))}}
	way, err := preview.Walk(p, "s", start, nil)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, s := range way.Steps {
		got = append(got, fmt.Sprintf("%s %s %d", s.Node, s.ID, s.Iterations))
	}
	if diff := cmp.Diff([]string{"0 sub 0", "0.0 x 2", "0.0 x 2", "1 b 1"}, got); diff != "" || way.Status != state.Completed {
		t.Errorf("%s: %s", way.Status, diff)
	}
}

// A plan may ask for more than anybody can wait for.
func TestWalkIsCutOff(t *testing.T) {
	endless := stage("0", "a", fixed(1_000_000_000))
	way, err := preview.Walk(&plan.Plan{Nodes: []plan.Node{endless}}, "s", start, nil)
	if err != nil || !way.CutOff || way.Status != state.Running || way.Steps[0].Outcome != "" || way.Steps[0].Iterations < 100 {
		t.Errorf("%+v, %v", way, err)
	}
}

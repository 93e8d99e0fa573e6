package dryrun_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/dodo-digital/agent-pipelines/engine/internal/dryrun"
	"github.com/dodo-digital/agent-pipelines/engine/internal/testkit"
	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/kernel/state"
)

func stage(path, id string, termination plan.Termination) plan.Node {
	return plan.Node{
		Path: path, ID: id, Kind: plan.KindStage, Termination: termination, Delay: new(2.0),
		Provider: &plan.Provider{Type: "agent", Model: "big"}, Prompt: "do it",
	}
}

func fixed(n int) plan.Termination { return plan.Termination{"type": "fixed", "max": n} }

func block(path, id string) plan.Node {
	return plan.Node{
		Path: path, ID: id, Kind: plan.KindParallel, Providers: []plan.BlockProvider{{Name: "agent"}, {Name: "agent", As: "other"}},
		Stages: []plan.Node{{
			Path: path + ".0", ID: "inner", Kind: plan.KindStage, Termination: fixed(2), Delay: new(0.0), Prompt: "do it",
		}},
	}
}

var start = event.SessionStartData{Mode: "pipeline", Providers: map[string]event.Provider{"agent": {Type: "agent", Model: "big"}}}

// U017: the path is the scheduler's own, under the assumed outcomes.
func TestWalk(t *testing.T) {
	one, judged := stage("0", "a", fixed(5)), stage("1", "b", plan.Termination{"type": "judgment", "min_iterations": 2, "max": 9})
	for name, tt := range map[string]struct {
		nodes   []plan.Node
		assumed map[string]dryrun.Outcome
		status  state.Status
		want    []string // id, iterations/attempts, waiting, outcome: reason -> to
	}{
		"nothing to do": {nil, nil, state.Completed, nil},
		"success": {[]plan.Node{stage("0", "a", fixed(3)), judged}, nil, state.Completed, []string{
			"a 3/3 4s success: Completed 3 iterations (max: 3) -> 1", "b 2/2 2s success: assumed to say stop -> done",
		}},
		"failure": {[]plan.Node{one, judged}, map[string]dryrun.Outcome{"a": dryrun.Fail}, state.Failed, []string{"a 1/1 0s error: assumed to fail -> failed"}},
		"a retry": {[]plan.Node{stage("0", "a", fixed(1))}, map[string]dryrun.Outcome{"a": dryrun.Retry}, state.Completed, []string{
			"a 1/2 2s success: Completed 1 iterations (max: 1) -> done",
		}},
		"the agent says stop":        {[]plan.Node{one}, map[string]dryrun.Outcome{"a": dryrun.Stop}, state.Completed, []string{"a 1/1 0s success: Agent requested stop at iteration 1 -> done"}},
		"the agent reports an error": {[]plan.Node{one}, map[string]dryrun.Outcome{"a": dryrun.Error}, state.Failed, []string{"a 1/1 0s error: assumed to say error -> failed"}},
		"a block": {[]plan.Node{block("0", "both"), stage("1", "b", fixed(1))}, nil, state.Completed, []string{
			"both 4/4 0s success:  -> 1", "b 1/1 0s success: Completed 1 iterations (max: 1) -> done",
		}},
		"a block that fails": {[]plan.Node{block("0", "both")}, map[string]dryrun.Outcome{"both": dryrun.Fail}, state.Failed, []string{
			"both 2/2 0s error: Parallel block 'both' failed. Failed providers: agent, other: assumed to fail -> failed",
		}},
	} {
		t.Run(name, func(t *testing.T) {
			way := testkit.Must(dryrun.Simulate(&plan.Plan{Version: plan.Version, Nodes: tt.nodes}, "s", start, tt.assumed))
			var got []string
			for _, s := range way.Steps {
				got = append(got, fmt.Sprintf("%s %d/%d %s %s: %s -> %s", s.ID, s.Iterations, s.Attempts, s.Waiting, s.Outcome, s.Reason, s.To))
			}
			testkit.Equal(t, tt.want, got)
			if way.Status != tt.status || way.CutOff {
				t.Errorf("status %s, cut off %v", way.Status, way.CutOff)
			}
		})
	}
}

// A plan's path can be too long to show.
func TestWalkIsTruncated(t *testing.T) {
	endless := stage("0", "a", fixed(1_000_000_000))
	way, err := dryrun.Simulate(&plan.Plan{Nodes: []plan.Node{endless}}, "s", start, nil)
	if err != nil || !way.CutOff || way.Status != state.Running || way.Steps[0].Outcome != "" || way.Steps[0].Iterations < 100 {
		t.Errorf("%+v, %v", way, err)
	}
}

// loop returns the nodes plan, work with steps, verify with checks, and review, with edges that lead back.
func loop() []plan.Node {
	first, work, verify, review := stage("0", "plan", fixed(1)), stage("1", "work", fixed(1)), stage("2", "verify", fixed(1)), stage("3", "review", fixed(1))
	first.Artifact = &plan.Artifact{Type: "t"}
	work.Steps = &plan.Steps{From: "plan", Path: "tasks[*]"}
	verify.Checks = []plan.Check{{ID: "in", At: plan.AtEnter, Config: []byte(`{"type":"file"}`)}, {ID: "out", Config: []byte(`{"type":"tests"}`)}}
	verify.Transitions = map[plan.Outcome]plan.Edge{plan.OutcomeFail: {To: "work", Limit: 2}}
	review.Transitions = map[plan.Outcome]plan.Edge{plan.OutcomeReject: {To: "plan", Limit: 1, OnLimit: plan.ToFailed}}
	return []plan.Node{first, work, verify, review}
}

// U082, U113, U122: the path follows edges, steps and checks, and counts the edges that lead back.
func TestWalkContracts(t *testing.T) {
	ids := func(steps []dryrun.Step) (all []string) {
		for _, s := range steps {
			line := fmt.Sprintf("%s %d/%d %s", s.ID, s.Iterations, s.Attempts, s.Outcome)
			if s.Edge != "" {
				line += fmt.Sprintf(" %s %d/%d", s.Edge, s.Cycle, s.Limit)
			}
			all = append(all, line)
		}
		return all
	}
	first, picky := stage("0", "plan", fixed(1)), stage("1", "work", fixed(1))
	first.Artifact = &plan.Artifact{Type: "t"}
	picky.Inputs, picky.SkipWhen = plan.Inputs{"from": []byte(`"plan"`)}, "input.done == true"
	embedded := plan.Node{Path: "0", ID: "sub", Kind: plan.KindPipeline, Runs: 2, Plan: &plan.Plan{Version: plan.Version, Nodes: []plan.Node{stage("0", "x", fixed(2))}}}
	measured := stage("0", "green", plan.Termination{"type": "checks", "max": 3})
	measured.Checks = []plan.Check{{ID: "out", Config: []byte(`{"type":"tests"}`)}}
	for name, tt := range map[string]struct {
		nodes   []plan.Node
		over    *plan.Overrides
		assumed map[string]dryrun.Outcome
		status  state.Status
		want    []string
	}{
		"an embedded pipeline": {[]plan.Node{embedded, stage("1", "b", fixed(1))}, nil, nil, state.Completed, []string{"sub 0/0 success", "x 2/2 success", "x 2/2 success", "b 1/1 success"}},
		"all is well":          {loop(), nil, nil, state.Completed, []string{"plan 1/1 success", "work 1/1 success", "verify 1/1 success", "review 1/1 success"}},
		"verify fails": {loop(), nil, map[string]dryrun.Outcome{"verify": dryrun.Fail}, state.Paused, []string{
			"plan 1/1 success", "work 1/1 success", "verify 1/1 fail verify:fail->work 1/2", "work 1/1 success", "verify 1/1 fail verify:fail->work 2/2", "work 1/1 success", "verify 1/1 ",
		}},
		"fewer cycles": {loop(), &plan.Overrides{PathOverrides: plan.PathOverrides{MaxCycles: 1}}, map[string]dryrun.Outcome{"verify": dryrun.Fail}, state.Paused, []string{
			"plan 1/1 success", "work 1/1 success", "verify 1/1 fail verify:fail->work 1/1", "work 1/1 success", "verify 1/1 ",
		}},
		"review rejects": {loop(), nil, map[string]dryrun.Outcome{"review": dryrun.Reject}, state.Failed, []string{
			"plan 1/1 success", "work 1/1 success", "verify 1/1 success", "review 1/1 reject review:reject->plan 1/1",
			"plan 1/1 success", "work 1/1 success", "verify 1/1 success", "review 1/1 reject",
		}},
		"the user is needed":                  {loop(), nil, map[string]dryrun.Outcome{"plan": dryrun.Escalate}, state.Paused, []string{"plan 1/1 "}},
		"left out":                            {loop(), &plan.Overrides{PathOverrides: plan.PathOverrides{Skip: []string{"verify"}}}, nil, state.Completed, []string{"plan 1/1 success", "work 1/1 success", "verify 0/0 skip", "review 1/1 success"}},
		"an attempt more":                     {loop(), nil, map[string]dryrun.Outcome{"work": dryrun.Retry}, state.Completed, []string{"plan 1/1 success", "work 1/2 success", "verify 1/1 success", "review 1/1 success"}},
		"its input is valid":                  {[]plan.Node{first, picky}, nil, nil, state.Completed, []string{"plan 1/1 success", "work 1/1 success"}},
		"its input skips it":                  {[]plan.Node{first, picky}, nil, map[string]dryrun.Outcome{"work": dryrun.Skip}, state.Completed, []string{"plan 1/1 success", "work 0/0 skip"}},
		"an agent under a contract says stop": {loop(), nil, map[string]dryrun.Outcome{"plan": dryrun.Stop}, state.Completed, []string{"plan 1/1 success", "work 1/1 success", "verify 1/1 success", "review 1/1 success"}},
		"checks that pass":                    {[]plan.Node{measured}, nil, nil, state.Completed, []string{"green 1/1 success"}},
		"checks that never do":                {[]plan.Node{measured}, nil, map[string]dryrun.Outcome{"green": dryrun.Fail}, state.Failed, []string{"green 3/3 fail"}},
	} {
		t.Run(name, func(t *testing.T) {
			p := &plan.Plan{Nodes: tt.nodes, Pipeline: plan.Pipeline{Overrides: tt.over}}
			way := testkit.Must(dryrun.Simulate(p, "demo", start, tt.assumed))
			if diff := cmp.Diff(tt.want, ids(way.Steps)); diff != "" || way.Status != tt.status || way.CutOff {
				t.Errorf("status %s (%s), cut off %v, want %s (-want +got):\n%s", way.Status, way.Reason, way.CutOff, tt.status, diff)
			}
		})
	}
	if node := loop()[0]; !dryrun.Reject.AppliesTo(&node) || dryrun.Reject.AppliesTo(&plan.Node{}) || !dryrun.Fail.AppliesTo(&plan.Node{}) {
		t.Error("outcomes that can be assumed of a node")
	}
	if !dryrun.Skip.AppliesTo(&picky) || dryrun.Skip.AppliesTo(&first) {
		t.Error("a node can be skipped by what it is handed, and by nothing else")
	}
}

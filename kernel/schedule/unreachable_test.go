package schedule_test

import (
	"testing"

	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/kernel/progress"
	"github.com/dodo-digital/agent-pipelines/kernel/schedule"
	"github.com/dodo-digital/agent-pipelines/kernel/state"
)

// endedNode returns a node with the status and outcome, and with an artifact of its own if name is not "".
func endedNode(status state.NodeStatus, outcome, name string) state.Node {
	n := state.Node{NodeProgress: state.NodeProgress{Status: status, Outcome: outcome}}
	if name != "" {
		n.Artifacts = map[string]event.Ref{event.Artifact: {Path: name}}
	}
	return n
}

// exitAfterPlan returns a pipeline a, b{x, y}, c, d: it is complete after c, and the embedded one after x.
func exitAfterPlan() *plan.Plan {
	inner := &plan.Plan{Pipeline: plan.Pipeline{ExitAfter: "x"}, Nodes: []plan.Node{{Path: "0", ID: "x"}, {Path: "1", ID: "y"}}}
	return &plan.Plan{Pipeline: plan.Pipeline{ExitAfter: "c"}, Nodes: []plan.Node{
		{Path: "0", ID: "a"}, {Path: "1", ID: "b", Kind: plan.KindPipeline, Plan: inner}, {Path: "2", ID: "c"}, {Path: "3", ID: "d"},
	}}
}

// U112: a pipeline delivers the artifact of its last node that ended well and has one.
func TestDeliverable(t *testing.T) {
	for name, tt := range map[string]struct {
		nodes         map[string]state.Node
		complete, of1 string
		node, inner   string
	}{
		"nothing ran": {map[string]state.Node{}, "", "", "", ""},
		"the last with one": {map[string]state.Node{
			"0": endedNode(state.NodeComplete, "success", "a.yaml"), "1": endedNode(state.NodeComplete, "success", ""), "1.0": endedNode(state.NodeComplete, "success", "x.yaml"),
			"2": endedNode(state.NodeComplete, "success", ""),
		}, "a.yaml", "x.yaml", "0", "1.0"},
		"one that was skipped, and one that failed": {map[string]state.Node{
			"0": endedNode(state.NodeComplete, "success", "a.yaml"), "2": endedNode(state.NodeSkipped, "skip", "c.yaml"), "3": endedNode(state.NodeFailed, "fail", "d.yaml"),
		}, "c.yaml", "", "2", ""},
		"one whose outcome leads on": {map[string]state.Node{"0": endedNode(state.NodeComplete, "reject", "a.yaml")}, "", "", "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			p, s := exitAfterPlan(), state.State{Position: state.Position{Nodes: tt.nodes}}
			for embedder, want := range map[string][2]string{"": {tt.node, tt.complete}, "1": {tt.inner, tt.of1}, "0": {"", ""}, "9": {"", ""}} {
				path, ref, has := progress.Deliverable(p, s, embedder)
				if got := [2]string{path, ref.Path}; got != want || has != (want[0] != "") {
					t.Errorf("of %q: %q %t, want %q", embedder, got, has, want)
				}
			}
		})
	}
}

// U112: nodes after the one that completes the pipeline, and before the one that the run began with, are reported as
// unreachable.
func TestUnreachable(t *testing.T) {
	done := endedNode(state.NodeComplete, "success", "")
	for name, tt := range map[string]struct {
		start string
		nodes map[string]state.Node
		want  map[string]string
	}{
		"at the beginning": {"", map[string]state.Node{"0": {NodeProgress: state.NodeProgress{Status: state.NodeRunning}}}, map[string]string{}},
		"at the end": {"", map[string]state.Node{"0": done, "1": done, "1.0": done, "2": done}, map[string]string{
			"1.1": "the pipeline was complete after x", "3": "the pipeline was complete after c",
		}},
		"the exit did not end well": {"", map[string]state.Node{"0": done, "1": done, "1.0": done, "1.1": done, "2": endedNode(state.NodeFailed, "fail", "")}, map[string]string{}},
		"begun later": {"c", map[string]state.Node{"2": {NodeProgress: state.NodeProgress{Status: state.NodeRunning}}}, map[string]string{
			"0": "the run began with c", "1": "the run began with c", "1.0": "the run began with c", "1.1": "the run began with c",
		}},
		"led back": {"c", map[string]state.Node{"0": done, "2": done}, map[string]string{
			"1": "the run began with c", "1.0": "the run began with c", "1.1": "the run began with c", "3": "the pipeline was complete after c",
		}},
	} {
		t.Run(name, func(t *testing.T) {
			p := exitAfterPlan()
			if tt.start != "" {
				p.Pipeline.Overrides = &plan.Overrides{Start: tt.start}
			}
			for n := range p.All() {
				if got := schedule.UnreachableReason(p, state.State{Position: state.Position{Nodes: tt.nodes}}, n.Path); got != tt.want[n.Path] {
					t.Errorf("%s: %q, want %q", n.Path, got, tt.want[n.Path])
				}
			}
		})
	}
}

package schedule_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/kernel/progress"
	"github.com/dodo-digital/agent-pipelines/kernel/schedule"
	"github.com/dodo-digital/agent-pipelines/kernel/state"
)

// newRepeatedHistory begins a session that runs its pipeline several times.
func newRepeatedHistory(t *testing.T, p *plan.Plan, runs int) *history {
	t.Helper()
	h := &history{t: t, plan: p}
	h.add(event.New(event.SessionStart, nil, "", event.SessionStartData{Mode: "pipeline", SchedulerVersion: progress.Version, Runs: runs}))
	h.startKernel()
	return h
}

// singleStage returns a stage of one iteration.
func singleStage(path, id string) plan.Node {
	return plan.Node{Path: path, ID: id, Kind: plan.KindStage, Termination: plan.Termination{"max": 1}}
}

// mixedPlan returns a plan with a stage, a nested pipeline of two runs, and a block, each with one stage of one
// iteration.
func mixedPlan() *plan.Plan {
	return &plan.Plan{Version: plan.Version, Pipeline: plan.Pipeline{Name: "p"}, Nodes: []plan.Node{
		singleStage("0", "a"),
		{Path: "1", ID: "n", Kind: plan.KindPipeline, Runs: 2, Plan: &plan.Plan{Nodes: []plan.Node{singleStage("0", "inner")}}},
		{Path: "2", ID: "b", Kind: plan.KindParallel, Providers: []plan.BlockProvider{{Name: "x"}}, Stages: []plan.Node{singleStage("2.0", "s")}},
	}}
}

// runUntil runs the history until the run with the number begins, or to its end for 0. It returns the location of each
// attempt, and the event types of the session's runs and end.
func runUntil(h *history, until int) []string {
	var got []string
	for h.state.Status == state.Running && (until == 0 || h.state.Run < until) {
		c := schedule.Decide(h.plan, h.state)[0]
		if c.Event != nil {
			h.add(*c.Event)
			switch c.Event.Type {
			case event.RunStart, event.SessionComplete:
				got = append(got, fmt.Sprintf("%s %d", c.Event.Type, c.Event.Cursor.Run))
			}
		}
		switch c.Kind {
		case schedule.Attempt:
			got = append(got, fmt.Sprintf("%s r%d", c.Location.Node, c.Location.Run))
			h.complete(c, "")
		case schedule.Strategy:
			h.decide("stop")
		case schedule.WriteManifest:
			h.add(event.New(event.ArtifactWritten, &event.Cursor{NodePath: c.Location.Node}, c.Key, event.ArtifactWrittenData{Name: event.Manifest}))
		}
	}
	return got
}

// U290, U067: the whole pipeline runs the requested number of times, every node at locations of its own. Nested
// pipelines keep counting, and the session is complete once.
func TestRepeats(t *testing.T) {
	first := []string{"0 r1", "1.0 r1", "1.0 r2", "2.0 r1"}
	for _, tt := range []struct {
		runs int
		want []string
	}{
		{0, append(first[:4:4], "session_complete 0")},
		{1, append(first[:4:4], "session_complete 0")},
		{3, append(
			first[:4:4], "run_start 2", "0 r2", "1.0 r3", "1.0 r4", "2.0 r2",
			"run_start 3", "0 r3", "1.0 r5", "1.0 r6", "2.0 r3", "session_complete 3",
		)},
	} {
		t.Run(fmt.Sprint(tt.runs), func(t *testing.T) {
			h := newRepeatedHistory(t, mixedPlan(), tt.runs)
			compare(t, tt.want, runUntil(h, 0))
			if tt.runs < 2 && (h.state.Run != 0 || h.state.Runs != 0 || h.state.PriorRuns != nil) {
				t.Errorf("a single run has a number: %s", asJSON(h.state))
			}
		})
	}
}

// A new run has forgotten the nodes of the previous run, and each visit in it is the first.
func TestNewRunClearsNodes(t *testing.T) {
	h := newRepeatedHistory(t, mixedPlan(), 2)
	runUntil(h, 2)
	require(t, len(h.state.Nodes) == 0 && h.state.At == "0", h.state)
	h.add(*h.nextCommand().Event)
	n := h.state.Nodes["0"]
	require(t, n.Visit == 1 && n.Run == 2, n.Visit, n.Run)
}

// A run that is not due, and events of another run, are refused.
func TestOtherRunsAreRefused(t *testing.T) {
	h := newRepeatedHistory(t, &plan.Plan{Version: plan.Version, Nodes: []plan.Node{singleStage("0", "a")}}, 3)
	refused := func(e event.Event) {
		t.Helper()
		e.Seq, e.Epoch = h.state.Seq+1, h.state.Epoch
		if next, err := progress.Apply(h.plan, h.state, e); !errors.Is(err, progress.ErrInvalidTransition) {
			t.Errorf("%s was applied: %s", e.Type, asJSON(next))
		}
	}
	begin := func(n int) event.Event {
		return event.New(event.RunStart, &event.Cursor{NodePath: "0", Run: n}, "", event.RunStartData{N: n, Max: 3})
	}
	refused(begin(2)) // the first run has not ended
	refused(event.New(event.NodeStart, &event.Cursor{NodePath: "0", Run: 2}, "", event.NodeStartData{}))
	h.iterate("")
	h.decide("stop")
	h.add(*h.nextCommand().Event)
	refused(begin(3))
	refused(begin(1))
	h.add(begin(2))
	refused(begin(2))
}

// A pause between two runs is kept, and the resumed session begins the next run.
func TestPauseBetweenRuns(t *testing.T) {
	h := newRepeatedHistory(t, &plan.Plan{Version: plan.Version, Nodes: []plan.Node{singleStage("0", "a")}}, 2)
	h.iterate("")
	h.decide("stop")
	h.add(*h.nextCommand().Event)
	h.add(event.New(event.Control, nil, "", event.ControlData{Action: "pause"}))
	h.commit()
	require(t, h.state.Status == state.Paused && h.state.Run == 1, h.state)
	h.startKernel()
	h.add(event.New(event.SessionResumed, nil, "", event.SessionResumedData{}))
	c := h.nextCommand()
	require(t, c.Event != nil && c.Event.Type == event.RunStart, c)
}

// endedNode returns a node with the status and outcome, and with an artifact of its own if name is not "".
func endedNode(status state.NodeStatus, outcome, name string) state.Node {
	n := state.Node{NodeProgress: state.NodeProgress{Status: status, Outcome: outcome}}
	if name != "" {
		n.Artifacts = map[string]event.Ref{event.Artifact: {Path: name}}
	}
	return n
}

// exitAfterPlan returns a pipeline a, b{x, y}, c, d: it is complete after c, and its embedded pipeline b after x.
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
				got := [2]string{path, ref.Path}
				require(t, got == want && has == (want[0] != ""), embedder, got, has)
			}
		})
	}
}

// U112: nodes after the node that completes the pipeline, and before the node that the run began with, are reported
// as unreachable.
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
				p.Pipeline.Overrides = &plan.Overrides{PathOverrides: plan.PathOverrides{Start: tt.start}}
			}
			for n := range p.All() {
				got := schedule.UnreachableReason(p, state.State{Position: state.Position{Nodes: tt.nodes}}, n.Path)
				require(t, got == tt.want[n.Path], n.Path, got)
			}
		})
	}
}

package statefile_test

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/dodo-digital/agent-pipelines/engine/internal/statefile"
	"github.com/dodo-digital/agent-pipelines/engine/internal/testkit"
	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/kernel/state"
)

// U041, U209: visits, steps, cycles and budgets are members only for a pipeline that has them.
func TestContracts(t *testing.T) {
	_, d := testkit.Session(t, t.TempDir(), "p2")
	p := twoStages()
	p.Pipeline.Policy = &plan.Policy{Cost: &plan.Cost{MaxUSD: 2}}
	p.Nodes[1].Steps = &plan.Steps{From: "plan"}
	p.Nodes[1].Policy = &plan.Policy{Cost: &plan.Cost{MaxTokens: 4000}}
	s := newStory(t, d, p)
	s.begin("pipeline")
	s.enter("0")
	s.iterate("0", 1)
	s.iterate("0", 2)
	s.leave("0", "1")
	s.enter("1")
	s.st = s.st.Clone()
	n := s.st.Nodes["1"]
	n.Steps = map[string]state.Step{
		"a": {Status: state.StepComplete, StepData: event.StepData{ID: "a"}}, "b": {Status: state.StepFailed, StepData: event.StepData{ID: "b"}},
	}
	s.st.Nodes["1"] = n
	s.st.Cycles = map[string]state.Cycle{"build:fail->plan": {Count: 2, Limit: 3, Reasons: []string{"x", "y"}}}
	s.st.Charges = map[string]state.Charge{"": {USD: 0.5, UnknownUSD: 1}, "1": {Tokens: 2450, UnknownTokens: 2}}
	s.st.Status, s.st.PauseKind, s.st.PauseCode = state.Paused, state.PauseEscalation, "ACODE-ORCH-003"
	doc := document(t, d, s)
	got := map[string]any{"visits": doc.Visits, "steps": doc.Steps, "cycles": doc.Cycles, "budget": doc.Budget, "code": doc.PauseCode}
	want := map[string]any{
		"visits": map[string]int{"build": 1},
		"steps":  map[string]map[string]string{"build": {"a": "complete", "b": "failed"}},
		"cycles": map[string]statefile.Cycle{"build:fail->plan": {Count: 2, Limit: 3, Reasons: []string{"x", "y"}}},
		"budget": map[string]statefile.Budget{"": {LimitUSD: 2, UsedUSD: 0.5, UnknownUSD: 1}, "build": {LimitTokens: 4000, UsedTokens: 2450, UnknownTokens: 2}},
		"code":   "ACODE-ORCH-003",
	}
	testkit.Equal(t, want, got)
	_, plain := testkit.Session(t, t.TempDir(), "p3")
	old := newStory(t, plain, twoStages())
	old.begin("pipeline")
	old.enter("0")
	if doc := document(t, plain, old); doc.Visits != nil || doc.Steps != nil || doc.Cycles != nil || doc.Budget != nil {
		t.Errorf("a plain pipeline has %+v", doc.Tail)
	}
}

// U112: nodes that the run never reaches are shown as skipped: nodes before its first node at once, nodes after its
// last node when the run has ended.
func TestStagesThatAreNeverEntered(t *testing.T) {
	_, d := testkit.Session(t, t.TempDir(), "p2")
	p := twoStages()
	p.Nodes[0].Termination["max"] = 1
	p.Nodes = append([]plan.Node{{Path: "0", ID: "first", Kind: plan.KindStage}}, p.Nodes...)
	p.Nodes[1].Path, p.Nodes[2].Path = "1", "2"
	p.Pipeline.ExitAfter = "plan"
	p.Pipeline.Overrides = &plan.Overrides{PathOverrides: plan.PathOverrides{Start: "plan"}}
	s := newStory(t, d, p)
	s.begin("pipeline")
	s.enter("1")
	begun := statefile.Stage{Index: 0, Name: "first", Status: "skipped", Timestamp: "2026-01-02T03:04:06Z"}
	doc := document(t, d, s)
	if len(doc.Stages) != 2 || doc.Stages[0] != begun || doc.Stages[1].Status != "running" {
		t.Errorf("while it runs: %+v", doc.Stages)
	}
	s.iterate("1", 1)
	s.leave("1", "done")
	s.append(event.SessionComplete, event.Location{}, "", event.SessionCompleteData{ExitAfter: "plan"})
	doc = document(t, d, s)
	behind := statefile.Stage{Index: 2, Name: "build", Status: "skipped", Timestamp: "2026-01-02T03:04:13Z"}
	if len(doc.Stages) != 3 || doc.Stages[0] != begun || doc.Stages[1].Status != "complete" || doc.Stages[2] != behind {
		t.Errorf("at its end: %+v", doc.Stages)
	}
}

// U176, U179: the calls of a step are in the step's directory, as in the journal; the next kernel writes calls that a
// killed kernel did not write.
func TestCallsOfSteps(t *testing.T) {
	_, dir := testkit.Session(t, t.TempDir(), "s")
	p := &plan.Plan{Nodes: []plan.Node{{Path: "0", ID: "work", Kind: plan.KindStage, Steps: &plan.Steps{From: "plan"}}}}
	call := func(step, id string) event.Event {
		at := event.Location{Node: "0", Visit: 1, Run: 1, Step: step, Iteration: 1}
		return event.New(event.ToolCall, at.Cursor(), at.Key(event.KeyAttempt, 1), event.ToolCallData{CallID: id, Tool: "write"})
	}
	past := []event.Event{call("s1", "c1"), call("s2", "c2"), call("", "no step's")}
	file := func(step string) []string {
		text := testkit.Must(os.ReadFile(filepath.Join(dir.Path(), "stage-00-work/steps", step, "calls.jsonl")))
		return strings.Split(strings.TrimSpace(string(text)), "\n")
	}
	w := continued(dir, p, past)
	for _, e := range []event.Event{call("s1", "c3"), call("s1", "c4")} {
		testkit.OK(t, w.Update(e, state.State{Identity: state.Identity{Session: "s"}, Lifecycle: state.Lifecycle{Status: state.Running}}))
	}
	if lines := file("s1"); len(lines) != 3 || !strings.Contains(lines[0], `"c1"`) || !strings.Contains(lines[2], `"c4"`) {
		t.Errorf("s1: %q", lines)
	}
	testkit.OK(t, w.Flush(state.State{Identity: state.Identity{Session: "s"}, Lifecycle: state.Lifecycle{Status: state.Paused}}))
	if lines := file("s2"); len(lines) != 1 || !strings.Contains(lines[0], `"c2"`) {
		t.Errorf("s2: %q", lines)
	}
}

// U190: the line of a result describes the whole call, under the names of seed 002; the journal's own members stay.
func TestRecordsOfCalls(t *testing.T) {
	_, dir := testkit.Session(t, t.TempDir(), "s")
	p := &plan.Plan{Nodes: []plan.Node{{Path: "0", ID: "work", Kind: plan.KindStage, Steps: &plan.Steps{From: "plan"}}}}
	at := event.Location{Node: "0", Visit: 1, Run: 1, Step: "s1", Iteration: 1}
	recorded := func(kind event.Type, data any) event.Event {
		e := event.New(kind, at.Cursor(), at.Key(event.KeyAttempt, 1), data)
		e.Session = "s"
		return e
	}
	w := continued(dir, p, []event.Event{recorded(event.ToolCall, event.ToolCallData{
		CallID: "c1", Tool: "write_file", Args: json.RawMessage(`{"path":"a"}`), Turn: 2, Verdict: "run", Rule: "sources",
	})})
	for _, e := range []event.Event{
		recorded(event.ToolResult, event.ToolResultData{CallID: "c1", Status: "success", DurationMS: 45, TokensUsed: 890}),
		recorded(event.ToolResult, event.ToolResultData{CallID: "unknown", Tool: "read_file", Turn: 3, Status: "denied"}),
	} {
		testkit.OK(t, w.Update(e, state.State{Identity: state.Identity{Session: "s"}, Lifecycle: state.Lifecycle{Status: state.Running}}))
	}
	text := testkit.Must(os.ReadFile(filepath.Join(dir.Path(), "stage-00-work/steps/s1/calls.jsonl")))
	var got []map[string]any
	for line := range strings.Lines(string(text)) {
		var record map[string]any
		if err := json.Unmarshal([]byte(line), &record); err != nil {
			t.Fatalf("%v in %s", err, line)
		}
		if record["data"] == nil || record["key"] != string(at.Key(event.KeyAttempt, 1)) {
			t.Errorf("not the journal's line: %s", line)
		}
		for _, own := range []string{"ts", "timestamp", "type", "session", "cursor", "data", "key", "v", "trace_id", "span_id", "parent_span_id", "run_id"} {
			delete(record, own)
		}
		got = append(got, record)
	}
	call := map[string]any{
		"event": "tool_call", "session_id": "s", "task_id": "work", "step_id": "s1", "tool": "write_file",
		"parameters": map[string]any{"path": "a"}, "turn": 2.0, "verdict": "run", "rule": "sources",
	}
	end := maps.Clone(call)
	end["event"], end["result_status"], end["duration_ms"], end["tokens_used"] = "tool_result", "success", 45.0, 890.0
	want := []map[string]any{call, end, {
		"event": "tool_result", "session_id": "s", "task_id": "work", "step_id": "s1", "tool": "read_file", "turn": 3.0, "result_status": "denied",
	}}
	testkit.Equal(t, want, got)
}

package statefile_test

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/dodo-digital/agent-pipelines/engine/internal/testkit"
	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/kernel/state"
)

// U176, U179: the calls of a step are in its directory, as in the journal; the next kernel writes calls that a killed
// one did not.
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

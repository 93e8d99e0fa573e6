package view_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/internal/view"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/kernel/state"
)

// U176, U179: the calls of a step lie beside it, as the journal has them; what a kernel that was killed did not write is
// written by the next one.
func TestCallsOfSteps(t *testing.T) {
	_, dir := openDir(t, "s")
	p := &plan.Plan{Nodes: []plan.Node{{Path: "0", ID: "work", Kind: plan.KindStage, Steps: &plan.Steps{From: "plan"}}}}
	call := func(step, id string) event.Event {
		at := event.Place{Node: "0", Visit: 1, Run: 1, Step: step, Iteration: 1}
		return event.New(event.ToolCall, at.Cursor(), at.Key(event.KeyAttempt, 1), event.ToolCallData{CallID: id, Tool: "write"})
	}
	past := []event.Event{call("s1", "c1"), call("s2", "c2"), call("", "no step's")}
	file := func(step string) []string {
		text, err := os.ReadFile(filepath.Join(dir.Path(), "stage-00-work/steps", step, "calls.jsonl"))
		if err != nil {
			t.Fatal(err)
		}
		return strings.Split(strings.TrimSpace(string(text)), "\n")
	}
	w := view.New(dir, p, past)
	for _, e := range []event.Event{call("s1", "c3"), call("s1", "c4")} {
		if err := w.Update(e, state.State{Session: "s", Status: state.Running}); err != nil {
			t.Fatal(err)
		}
	}
	if lines := file("s1"); len(lines) != 3 || !strings.Contains(lines[0], `"c1"`) || !strings.Contains(lines[2], `"c4"`) {
		t.Errorf("s1: %q", lines)
	}
	if err := w.Flush(state.State{Session: "s", Status: state.Paused}); err != nil {
		t.Fatal(err)
	}
	if lines := file("s2"); len(lines) != 1 || !strings.Contains(lines[0], `"c2"`) {
		t.Errorf("s2: %q", lines)
	}
}

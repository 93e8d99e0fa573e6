package screen

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/dodo-digital/agent-pipelines/engine"
	"github.com/dodo-digital/agent-pipelines/kernel/event"
)

// U189: --verbose shows the tool calls of an agent.
func TestToolLines(t *testing.T) {
	lines := func(kind event.Type, data any) []string {
		e := event.New(kind, nil, "", data)
		return eventLines(place{Update: engine.Update{Event: &e}, verbose: true})
	}
	for _, tt := range []struct {
		name string
		data any
		want []string
	}{
		{"a path", event.ToolCallData{Tool: "read_file", Paths: []string{"a.go"}, Observed: true}, []string{"    [tool:read_file] a.go"}},
		{"a command", event.ToolCallData{Tool: "run_terminal", Command: "go\ntest", Verdict: "run", Paths: []string{"."}}, []string{"    [tool:run_terminal] go test"}},
		{"nothing known", event.ToolCallData{Tool: "think", Verdict: "run"}, []string{"    [tool:think]"}},
		{"denied", event.ToolCallData{Tool: "write_file", Paths: []string{"a", "b"}, Verdict: "deny", Reason: "no"}, []string{"    [tool:write_file] a, b", "    [deny] no"}},
		{"skipped", event.ToolCallData{Tool: "write_file", Verdict: "skip"}, []string{"    [tool:write_file]", "    [skip]"}},
		{"a result", event.ToolResultData{Tool: "read_file", Status: "success", DurationMS: 45}, []string{"    [result] read_file: success (45ms)"}},
		{"of an unknown tool", event.ToolResultData{CallID: "c1", Status: "success"}, []string{"    [result] c1: success"}},
		{"an error", event.ToolResultData{Tool: "x", Status: "error", Result: json.RawMessage(`{"error":{"code":"ACODE-EXEC-004","message":"outside the\nworkspace"}}`)}, []string{
			"    [error] x: ACODE-EXEC-004 outside the workspace",
		}},
		{"a timeout", event.ToolResultData{Tool: "x", Status: "timeout", Result: json.RawMessage(`"text"`), DurationMS: 2500}, []string{"    [error] x: timeout (2.5s)"}},
		{"not made", event.ToolResultData{Tool: "x", Status: "denied"}, nil},
		{"refused elsewhere", event.ToolResultData{Tool: "x", Status: "denied", Observed: true}, []string{"    [error] x: denied"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			kind := event.ToolCall
			if _, ok := tt.data.(event.ToolResultData); ok {
				kind = event.ToolResult
			}
			compare(t, tt.want, lines(kind, tt.data))
		})
	}
	line := lines(event.ToolCall, event.ToolCallData{Tool: "x", Verdict: "run", Command: strings.Repeat("x", 5000)})[0]
	require(t, len(line) <= 300, len(line))
}

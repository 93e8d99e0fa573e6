package mock

import (
	"encoding/json"
	"errors"
	"testing"

	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
)

func TestObservedCalls(t *testing.T) {
	tr := newFixture(t, `{"replies":[{"output":"x","tool_calls":[
		{"tool":"read_file","args":{"path":"a"},"effect":"none","result":"text"},
		{"tool":"write_file","call_id":"mine","status":"error","count_file":"count","turn":2,"category":"file_write",
		 "paths":["a"],"command":"c","preview":"+a","reason":"why"}]}]}`)
	if _, err := tr.execute(t.Context()); err != nil {
		t.Fatal(err)
	}
	want := received{
		Text: "x",
		Observed: []sdk.ToolCall{
			{CallID: "call-1", Tool: "read_file", Args: json.RawMessage(`{"path":"a"}`), Effect: sdk.EffectNone},
			{
				CallID: "mine", Tool: "write_file", Effect: sdk.EffectOnce, Turn: 2, Category: sdk.CategoryFileWrite,
				Paths: []string{"a"}, Command: "c", Preview: "+a", Reason: "why",
			},
		},
		Results: []sdk.ToolResult{
			{CallID: "call-1", Status: sdk.ToolSuccess, Result: json.RawMessage(`"text"`)},
			{CallID: "mine", Status: sdk.ToolError},
		},
	}
	compare(t, want, tr.received)
	if got := tr.file(t, "count"); got != tr.req.Key+" mine\n" {
		t.Errorf("counted %q", got)
	}
}

func TestVerdicts(t *testing.T) {
	type seen struct {
		Count   string
		Results []sdk.ToolResult
		Raw     string
		Text    string
		Kind    failure.Kind
	}
	done := []sdk.ToolResult{{CallID: "call-1", Status: sdk.ToolSuccess}}
	denied := []sdk.ToolResult{{CallID: "call-1", Status: sdk.ToolDenied}}
	line := "attempt:0/v1/r1//i1#1 call-1\n"
	raw := func(action, reason string) string {
		return `{"type":"tool_verdict","call_id":"call-1","tool":"pay","action":"` + action + `"` + reason + "}\n"
	}
	tests := []struct {
		name    string
		onDeny  string
		verdict sdk.Verdict
		err     error
		want    seen
	}{
		{"run", "continue", sdk.Verdict{Action: sdk.VerdictRun}, nil, seen{line, done, raw("run", ""), "x", ""}},
		{"deny", "continue", sdk.Verdict{Action: sdk.VerdictDeny, Reason: "too dear"}, nil, seen{"", denied, raw("deny", `,"reason":"too dear"`), "x", ""}},
		{"deny fails the attempt", "fail", sdk.Verdict{Action: sdk.VerdictDeny, Reason: "no"}, nil, seen{"", denied, raw("deny", `,"reason":"no"`), "", failure.ApprovalDenied}},
		{"skip", "fail", sdk.Verdict{Action: sdk.VerdictSkip}, nil, seen{"", denied, raw("skip", ""), "x", ""}},
		{"use", "continue", sdk.Verdict{Action: sdk.VerdictUse, Result: &sdk.ToolResult{Status: sdk.ToolSuccess}}, nil, seen{"", done, raw("use", ""), "x", ""}},
		{"an unknown verdict", "continue", sdk.Verdict{Action: "ponder"}, nil, seen{"", denied, raw("ponder", ""), "x", ""}},
		{"no verdict", "continue", sdk.Verdict{}, errors.New("gone"), seen{Kind: failure.Internal}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			tr := newFixture(t, `{"replies":[{"output":"x","tool_calls":[{"tool":"pay","gated":true,"count_file":"count","on_deny":"`+tt.onDeny+`"}]}]}`)
			tr.exchange.Default, tr.exchange.OnCall = tt.verdict, func(sdk.ToolCall) error { return tt.err }
			_, err := tr.execute(t.Context())
			got := seen{tr.file(t, "count"), tr.received.Results, tr.received.Raw, tr.received.Text, failure.KindOf(err)}
			compare(t, tt.want, got)
			if len(tr.received.Requested) != 1 || tr.received.Observed != nil {
				t.Errorf("asked %v, observed %v", tr.received.Requested, tr.received.Observed)
			}
		})
	}
}

const threeCalls = `{"replies":[{"output":"x","tool_calls":[
	{"tool":"a","gated":true,"checkpoint":true},{"tool":"b","gated":true},{"tool":"c","gated":true}]}]}`

func TestCheckpoints(t *testing.T) {
	tr := newFixture(t, threeCalls)
	if _, err := tr.execute(t.Context()); err != nil {
		t.Fatal(err)
	}
	want := []sdk.Checkpoint{{Turn: 1, Blob: []byte(`{"next_call":1}`)}}
	compare(t, want, tr.received.Checkpoints)
}

func TestResume(t *testing.T) {
	call := func(id string, done bool) sdk.ResumedCall {
		c := sdk.ResumedCall{Call: sdk.ToolCall{CallID: id}}
		if done {
			c.Result = &sdk.ToolResult{CallID: id, Status: sdk.ToolSuccess}
		}
		return c
	}
	tests := []struct {
		name      string
		resume    sdk.Resume
		requested []string
	}{
		{"without a blob", sdk.Resume{}, []string{"a", "b", "c"}},
		{"from a call", sdk.Resume{Checkpoint: sdk.Checkpoint{Blob: []byte(`{"next_call":1}`)}}, []string{"b", "c"}},
		{"a finished call", sdk.Resume{Checkpoint: sdk.Checkpoint{Blob: []byte(`{"next_call":1}`)}, Calls: []sdk.ResumedCall{call("call-2", true)}}, []string{"c"}},
		{"a call cut off", sdk.Resume{Calls: []sdk.ResumedCall{call("call-1", true), call("call-2", false)}}, []string{"b", "c"}},
		{"everything done", sdk.Resume{Checkpoint: sdk.Checkpoint{Blob: []byte(`{"next_call":3}`)}}, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			tr := newFixture(t, threeCalls)
			tr.req.Resume = &tt.resume
			if _, err := tr.execute(t.Context()); err != nil {
				t.Fatal(err)
			}
			var requested []string
			for _, c := range tr.received.Requested {
				requested = append(requested, c.Tool)
			}
			compare(t, tt.requested, requested)
		})
	}

	tr := newFixture(t, threeCalls)
	tr.req.Resume = &sdk.Resume{Checkpoint: sdk.Checkpoint{Blob: []byte("of another provider")}}
	if _, err := tr.execute(t.Context()); failure.KindOf(err) != failure.ProviderFailed {
		t.Errorf("a foreign blob: %v", err)
	}
}

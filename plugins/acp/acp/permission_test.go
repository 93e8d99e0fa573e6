package acp

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/plugintest"
)

// oneRequest is a script with one request, for a call whose arguments were announced before.
const oneRequest = `{"turns":[{"steps":[
	{"update":{"sessionUpdate":"tool_call","toolCallId":"t1","title":"Write a.txt","kind":"edit","status":"in_progress","content":[{"type":"diff","path":"/a.txt","oldText":null,"newText":"x\n"}]}},
	{"ask":{"toolCallId":"t1","title":"Edit files","locations":[{"path":"/a.txt"}],"status":"pending"},
		"allowed":[{"update":{"sessionUpdate":"tool_call_update","toolCallId":"t1","status":"completed"}},{"say":"written"}],
		"refused":[{"update":{"sessionUpdate":"tool_call_update","toolCallId":"t1","status":"failed"}},{"say":"left"}]}
]},{"steps":[{"say":"I see."}]}]}`

func TestVerdicts(t *testing.T) {
	refusal := func(reason string) []string {
		return []string{"do it", "Some of your requests for permission were refused:\n\n- Edit files: " + reason + "\n\nDo not repeat these requests. Continue your task without them."}
	}
	once := []string{"do it"}
	for _, tt := range []struct {
		name    string
		verdict sdk.Verdict
		output  string
		prompts []string
		status  sdk.ToolStatus
	}{
		{"run", sdk.Verdict{Action: sdk.VerdictRun}, "written\n", once, sdk.ToolSuccess},
		{"deny", sdk.Verdict{Action: sdk.VerdictDeny, Reason: "use git"}, "left\n\nI see.\n", refusal("use git"), sdk.ToolDenied},
		{"skip", sdk.Verdict{Action: sdk.VerdictSkip, Reason: "policy"}, "left\n", once, sdk.ToolDenied},
		{
			"use",
			sdk.Verdict{Action: sdk.VerdictUse, Result: &sdk.ToolResult{Status: sdk.ToolSuccess, Result: json.RawMessage(`"ok"`)}},
			"left\n\nI see.\n", refusal(`it has been done already, with this result: "ok"`), sdk.ToolSuccess,
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			x := &plugintest.Exchange{Default: tt.verdict}
			var log string
			result, err := execute(t, x, oneRequest, "", func(r *sdk.ExecuteRequest) { log = enableLog(t, r) })
			if err != nil || result.Outcome != sdk.OutcomeSucceeded || result.Output != tt.output {
				t.Errorf("result %+v, error %v", result, err)
			}
			compare(t, tt.prompts, sentPrompts(t, log))
			r := x.Record()
			call := sdk.ToolCall{
				CallID: "t1", Tool: "edit", Effect: sdk.EffectOnce, Category: sdk.CategoryFileWrite, Paths: []string{"/a.txt"}, Reason: "Edit files",
				Args: json.RawMessage(`{"title":"Edit files","paths":["/a.txt"],"diff":[{"path":"/a.txt","new":"x\n"}]}`),
			}
			compare(t, []sdk.ToolCall{call}, r.Calls)
			if len(r.Results) != 1 || r.Results[0].Status != tt.status || len(r.Observed) > 0 {
				t.Errorf("results %v, observed %v", r.Results, r.Observed)
			}
		})
	}
}

// TestPermissionsConfigured: the configuration decides without the kernel.
func TestPermissionsConfigured(t *testing.T) {
	for permissions, output := range map[string]string{"allow": "written\n", "deny": "left\n\nI see.\n"} {
		result, x, err := runAttempt(t, oneRequest, `,"permissions":"`+permissions+`"`, nil)
		if err != nil || result.Output != output {
			t.Errorf("%s: result %+v, error %v", permissions, result, err)
		}
		r := x.Record()
		want := []sdk.ToolResult{{CallID: "t1", Status: map[string]sdk.ToolStatus{"allow": sdk.ToolSuccess, "deny": sdk.ToolDenied}[permissions]}}
		if diff := cmp.Diff(want, r.ObservedResults); diff != "" || len(r.Calls) > 0 || len(r.Observed) != 1 {
			t.Errorf("%s: calls %v, observed %v; results (-want +got):\n%s", permissions, r.Calls, r.Observed, diff)
		}
	}
}

// TestRepeatedPermissionRequest: two requests about a call are two calls for the kernel, each with its result.
func TestRepeatedPermissionRequest(t *testing.T) {
	_, x, err := runAttempt(t, `{"turns":[{"steps":[{"ask":{"toolCallId":"t1","title":"Run"},"allowed":[{"ask":{"toolCallId":"t1","title":"Run outside of the sandbox"},
		"allowed":[{"update":{"sessionUpdate":"tool_call_update","toolCallId":"t1","status":"completed"}}]}]}]}]}`, "", nil)
	check(t, err)
	r := x.Record()
	if len(r.Calls) != 2 || r.Calls[0].CallID != "t1" || r.Calls[1].CallID != "t1#2" || len(r.Results) != 2 {
		t.Errorf("calls %v, results %v", r.Calls, r.Results)
	}
}

// TestUnfinishedCalls: a call without an end ends with the agent's turn.
func TestUnfinishedCalls(t *testing.T) {
	_, x, err := runAttempt(t, `{"turns":[{"steps":[{"ask":{"toolCallId":"t1","title":"Run"}},{"update":{"sessionUpdate":"tool_call","toolCallId":"t2","title":"Look","status":"in_progress"}}]}]}`, "", nil)
	check(t, err)
	r := x.Record()
	if len(r.Results) != 1 || r.Results[0].Status != sdk.ToolError || len(r.ObservedResults) != 1 || r.ObservedResults[0].CallID != "t2" {
		t.Errorf("results %v, observed %v", r.Results, r.ObservedResults)
	}
}

// TestNoMatchingOption: without a matching option the agent's request counts as cancelled.
func TestNoMatchingOption(t *testing.T) {
	script := `{"turns":[{"steps":[{"ask":{"toolCallId":"t1","title":"Run"},"options":[],"refused":[{"say":"so be it"}]}]}]}`
	if result, _, err := runAttempt(t, script, "", nil); err != nil || result.Output != "so be it\n" {
		t.Errorf("result %+v, error %v", result, err)
	}
}

// TestFinalDenial: the outcome is permission_denied if the agent cancels each turn after a refusal.
func TestFinalDenial(t *testing.T) {
	x := &plugintest.Exchange{Default: sdk.Verdict{Action: sdk.VerdictDeny, Reason: "no"}}
	script := `{"turns":[{"steps":[{"ask":{"toolCallId":"t1","title":"Run"}}],"result":{"stopReason":"cancelled"}}]}`
	result, err := execute(t, x, script, "", nil)
	if err != nil || result.Outcome != sdk.OutcomePermissionDenied || failure.KindOf(result.Error) != failure.ApprovalDenied {
		t.Errorf("result %+v, error %v", result, err)
	}
	if n := len(x.Record().Calls); n != maxTurns {
		t.Errorf("asked in %d turns, want %d", n, maxTurns)
	}
}

// TestNoVerdict: without a verdict, because the kernel ends the attempt, the agent gets no permission.
func TestNoVerdict(t *testing.T) {
	x := &plugintest.Exchange{OnCall: func(sdk.ToolCall) error { return failure.New(failure.ApprovalRequired, "no user is present") }}
	result, err := execute(t, x, oneRequest, "", nil)
	if err != nil || !strings.HasPrefix(result.Output, "left") {
		t.Errorf("result %+v, error %v", result, err)
	}
}

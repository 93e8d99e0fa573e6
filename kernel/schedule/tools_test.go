package schedule

import (
	"strings"
	"testing"

	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/state"
)

// D8: the question about a repeat names the calls whose result is unknown, and no others.
func TestDescribeUncertain(t *testing.T) {
	call := func(verdict, effect, tool, command string) state.Call {
		return state.Call{Call: event.ToolCallData{Verdict: verdict, Effect: effect, Tool: tool, Command: command}}
	}
	ended := call("run", "once", "run_terminal", "publish")
	ended.Result = &event.ToolResultData{Status: "success"}
	sure := []state.Call{ended, call("deny", "once", "run_terminal", "push"), call("run", "none", "read_file", ""), call("run", "idempotent", "write_file", "")}
	for _, c := range []struct {
		calls []state.Call
		want  string
	}{
		{nil, ""},
		{sure, ""},
		{append(sure, call("run", "once", "run_terminal", "deploy it")), ": it is unknown whether these calls ran: run_terminal deploy it"},
		{[]state.Call{call("run", "once", "send", ""), call("run", "", "run_terminal", "deploy")}, ": it is unknown whether these calls ran: send, run_terminal deploy"},
	} {
		if got := describeUncertain(c.calls); got != c.want || (got != "") != (state.Loop{CallInFlight: state.CallInFlight{Calls: c.calls}}).HasUncertainCall() {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
	if got := describeUncertain([]state.Call{call("run", "once", "run_terminal", strings.Repeat("x", 8192))}); len(got) > maxUncertainText || !strings.HasSuffix(got, "…") {
		t.Errorf("%d bytes: %q", len(got), got)
	}
}

package claude

import (
	"context"
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/cliagent"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/outcome"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/plugintest"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/plugintest/clitest"
)

func TestCommandIsCalledAsDocumented(t *testing.T) {
	dir := t.TempDir()
	req := clitest.Request(t, map[string]string{"FAKE_DIR": dir, "MORE": "yes"})
	req.Prompt = "  first line\nlast line"
	if _, err := fake(t).Execute(t.Context(), req, &plugintest.Exchange{}); err != nil {
		t.Fatal(err)
	}
	call := clitest.ReadCall(t, dir)
	want := []string{"--print", "--dangerously-skip-permissions", "--model", "opus", "--output-format", "stream-json", "--verbose"}
	if diff := cmp.Diff(want, call.Args); diff != "" {
		t.Errorf("arguments (-want +got):\n%s", diff)
	}
	if call.Prompt != req.Prompt {
		t.Errorf("prompt = %q, want %q", call.Prompt, req.Prompt)
	}
	if call.WorkDir != req.WorkDir {
		t.Errorf("working directory = %q, want %q", call.WorkDir, req.WorkDir)
	}
	for _, want := range []string{"MORE=yes", "CLAUDE_CODE_MAX_RETRIES=1"} {
		if !slices.Contains(call.Env, want) {
			t.Errorf("the environment lacks %s", want)
		}
	}
	for _, kv := range call.Env {
		if strings.HasPrefix(kv, "PLUGIN_") || strings.HasPrefix(kv, "IS_SANDBOX=") {
			t.Errorf("the environment has %s", kv)
		}
	}
}

func TestPlainTextCommands(t *testing.T) {
	clitest.PlainText(t, func(tb testing.TB) sdk.Provider { return fake(tb) }, []clitest.PlainCase{
		{Name: "answers", Env: map[string]string{"FAKE_STDOUT": "  two\nlines\n\n"}, Output: "  two\nlines\n\n", Outcome: sdk.OutcomeSucceeded},
		{
			Name: "answers in JSON", Env: map[string]string{"FAKE_STDOUT": "{\"stop\": true}\n"},
			Output: "{\"stop\": true}\n", Outcome: sdk.OutcomeSucceeded,
		},
		{Name: "empty output, may have written files", Outcome: sdk.OutcomeEmpty, Kind: failure.ProviderFailed},
		{
			Name: "fails", Env: map[string]string{"FAKE_STDOUT": "part", "FAKE_EXIT": "7"},
			Output: "part", Outcome: sdk.OutcomeInfrastructure, Kind: failure.ProviderCrashed,
		},
		{Name: "is killed", Env: map[string]string{"FAKE_SIGNAL": "KILL"}, Outcome: sdk.OutcomeInfrastructure, Kind: failure.ProviderCrashed},
		{
			Name: "has no login", Env: map[string]string{"FAKE_STDOUT": "Not logged in · Please run /login\n", "FAKE_EXIT": "1"},
			Output: "Not logged in · Please run /login\n", Outcome: sdk.OutcomeNeedsPerson, Kind: failure.ProviderFailed, Hint: "ANTHROPIC_API_KEY",
		},
		{
			Name: "reports the service", Env: map[string]string{"FAKE_STDOUT": "API Error: 529 Overloaded", "FAKE_EXIT": "1"},
			Output: "API Error: 529 Overloaded", Outcome: sdk.OutcomeInfrastructure, Kind: failure.ProviderFailed, Hint: "network",
		},
		{
			Name: "reports a limit", Env: map[string]string{"FAKE_STDOUT": "Claude usage limit reached.", "FAKE_EXIT": "1"},
			Output: "Claude usage limit reached.", Outcome: sdk.OutcomeRateLimited, Kind: failure.ProviderFailed, Hint: "wait",
		},
		{
			Name: "refuses root", Env: map[string]string{"FAKE_STDERR": "--dangerously-skip-permissions cannot be used with root/sudo privileges for security reasons", "FAKE_EXIT": "1"},
			Outcome: sdk.OutcomeNeedsPerson, Kind: failure.ConfigInvalid, Hint: "is_sandbox: true",
		},
		{
			Name: "does not know a flag", Env: map[string]string{"FAKE_STDERR": "some warning\nerror: unknown option '--frobnicate'", "FAKE_EXIT": "1"},
			Outcome: sdk.OutcomeFailed, Kind: failure.ConfigInvalid, Hint: "npm install -g @anthropic-ai/claude-code",
		},
		{
			Name: "wants a prompt", Env: map[string]string{"FAKE_STDERR": "Error: Input must be provided either through stdin or as a prompt argument when using --print", "FAKE_EXIT": "1"},
			Outcome: sdk.OutcomeFailed, Kind: failure.ConfigInvalid, Hint: "prompt is empty",
		},
	})
}

func TestQuestionsGetTheAnswerAlone(t *testing.T) {
	clitest.Question(t, fake(t), "testdata/tools.jsonl", "Done: a.txt is written.")
}

func TestAttemptsThatAreEnded(t *testing.T) {
	stream, err := filepath.Abs("testdata/cut.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		name   string
		change func(req *sdk.ExecuteRequest)
		cancel bool
		want   failure.Kind
	}{
		{"time limit", func(r *sdk.ExecuteRequest) { r.Timeout = 300 * time.Millisecond }, false, failure.ProviderTimeout},
		{"idle limit", func(r *sdk.ExecuteRequest) { r.IdleTimeout = 300 * time.Millisecond }, false, failure.ProviderTimeout},
		{"cancelled", func(*sdk.ExecuteRequest) {}, true, failure.SignalInterrupt},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			req := clitest.Request(t, map[string]string{"FAKE_STREAM": stream, "FAKE_HANG": "1"})
			tt.change(&req)
			x := &plugintest.Exchange{OnOutput: func(sdk.OutputChunk) {
				if tt.cancel {
					cancel()
				}
			}}
			result, err := fake(t).Execute(ctx, req, x)
			if got := failure.KindOf(err); got != tt.want {
				t.Errorf("kind = %q (%v), want %q", got, err, tt.want)
			}
			if result.Outcome != sdk.OutcomeInfrastructure {
				t.Errorf("outcome = %q", result.Outcome)
			}
		})
	}
}

func TestExecuteDoesNotStart(t *testing.T) {
	tests := []struct {
		name   string
		config string
		env    map[string]string
		want   failure.Kind
		hint   string
	}{
		{"missing command", ``, map[string]string{"PATH": "/nowhere"}, failure.ProviderMissing, installCommand},
		{"missing path", `{"command": "/nowhere/claude"}`, nil, failure.ProviderMissing, installCommand},
		{"unknown key", `{"comand": "claude"}`, nil, failure.ConfigInvalid, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			req := clitest.Request(t, tt.env)
			req.Config = json.RawMessage(tt.config)
			_, err := fake(t).Execute(t.Context(), req, &plugintest.Exchange{})
			clitest.WantFailure(t, failure.From(err), tt.want, tt.hint)
		})
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := fake(t).Execute(ended, clitest.Request(t, nil), &plugintest.Exchange{}); err == nil {
		t.Error("an attempt begins although its context has ended")
	}
}

// TestVerdict tests ends that no recorded stream has.
func TestVerdict(t *testing.T) {
	const (
		text     = `{"type":"assistant","message":{"id":"m1","content":[{"type":"text","text":"hello"}]}}`
		trouble  = `{"type":"assistant","error":"rate_limit","message":{"id":"m2","content":[{"type":"text","text":"API Error: slow down"}]}}`
		nested   = `{"type":"assistant","error":"rate_limit","parent_tool_use_id":"t1","message":{"id":"m3","content":[]}}`
		rejected = `{"type":"rate_limit_event","rate_limit_info":{"status":"rejected","resetsAt":1795183200,"rateLimitType":"five_hour"}}`
		allowed  = `{"type":"rate_limit_event","rate_limit_info":{"status":"allowed","resetsAt":1795183200}}`
		good     = `{"type":"result","subtype":"success","result":"done"}`
		stopped  = `{"type":"result","subtype":"error_during_execution","is_error":true,"terminal_reason":"aborted_tools"}`
		bad      = `{"type":"result","subtype":"success","is_error":true,"api_error_status":429,"result":"You've hit your session limit"}`
	)
	now := time.Unix(1795183200, 0).Add(-time.Hour)
	tests := []struct {
		name   string
		events []string
		end    cliagent.End
		want   sdk.Outcome
		wait   float64
	}{
		{"success and exit code 0", []string{good}, cliagent.End{Final: true}, sdk.OutcomeSucceeded, 0},
		{"ended after its last event", []string{good}, cliagent.End{Final: true, StopReason: cliagent.StopLinger, ExitCode: -1, Signal: syscall.SIGTERM}, sdk.OutcomeSucceeded, 0},
		{"success, but another exit code", []string{good}, cliagent.End{Final: true, ExitCode: 1}, sdk.OutcomeInfrastructure, 0},
		{"exit code 0 without a result", []string{text}, cliagent.End{}, sdk.OutcomeInfrastructure, 0},
		{"exit code 0 after an interrupt", []string{stopped}, cliagent.End{Final: true}, sdk.OutcomeInfrastructure, 0},
		{"an error and no result", []string{text, trouble}, cliagent.End{ExitCode: 1}, sdk.OutcomeRateLimited, 0},
		{"an error and a signal", []string{text, trouble}, cliagent.End{ExitCode: -1, Signal: syscall.SIGKILL}, sdk.OutcomeInfrastructure, 0},
		{"an error, then success", []string{text, trouble, good}, cliagent.End{Final: true}, sdk.OutcomeRateLimited, 0},
		{"an error and then a message", []string{trouble, text, good}, cliagent.End{Final: true}, sdk.OutcomeSucceeded, 0},
		{"an error of a sub-agent", []string{text, nested, good}, cliagent.End{Final: true}, sdk.OutcomeSucceeded, 0},
		{"a limit of the subscription", []string{rejected, bad}, cliagent.End{Final: true, ExitCode: 1}, sdk.OutcomeRateLimited, 3600},
		{"a limit of another kind", []string{allowed, bad}, cliagent.End{Final: true, ExitCode: 1}, sdk.OutcomeRateLimited, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := newStream(&plugintest.Exchange{})
			for _, event := range append([]string{`{"type":"system","subtype":"init"}`}, tt.events...) {
				s.events.Line([]byte(event))
			}
			got, f := verdict(s, tt.end, now)
			if got != tt.want || (f == nil) != (got == sdk.OutcomeSucceeded) {
				t.Fatalf("verdict = %q, %v; want %q", got, f, tt.want)
			}
			if f != nil && f.RetryAfterSeconds != tt.wait {
				t.Errorf("wait %g s, want %g s", f.RetryAfterSeconds, tt.wait)
			}
		})
	}
}

// TestEndingWithoutMessage: a result event without a message is described by its subtype and terminal reason.
func TestEndingWithoutMessage(t *testing.T) {
	for want, r := range map[string]resultEvent{
		"ended with error_max_turns":             {Subtype: "error_max_turns", IsError: true},
		"ended with error_max_turns (max_turns)": {Subtype: "error_max_turns", TerminalReason: "max_turns", IsError: true},
	} {
		var e outcome.Evidence
		r.addEvidence(&e)
		if e.Fault.Message != want {
			t.Errorf("%q, want %q", e.Fault.Message, want)
		}
	}
}

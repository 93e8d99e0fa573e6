package codex

import (
	"strings"
	"syscall"
	"testing"

	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/cliagent"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/plugintest"
)

// TestVerdict: a success needs the end of the turn and a clean exit. Codex writes error events also for errors that it
// recovers from.
func TestVerdict(t *testing.T) {
	const (
		message   = `{"type":"item.completed","item":{"id":"item_0","type":"agent_message","text":"done"}}`
		warning   = `{"type":"item.completed","item":{"id":"item_1","type":"error","message":"rate limit is near"}}`
		completed = `{"type":"turn.completed","usage":{}}`
		trouble   = `{"type":"error","message":"unexpected status 503 Service Unavailable: down"}`
		odd       = `{"type":"error","message":"something odd"}`
		limited   = `{"type":"error","message":"exceeded retry limit, last status: 429 Too Many Requests"}`
		failed    = `{"type":"turn.failed","error":{"message":"x"}}`
		retrying  = `{"type":"error","message":"Reconnecting... 1/5 (unexpected status 401 Unauthorized)"}`
	)
	good := cliagent.End{Final: true}
	tests := []struct {
		name    string
		events  []string
		end     cliagent.End
		want    sdk.Outcome
		message string
	}{
		{"completed and exit code 0", []string{message, completed}, good, sdk.OutcomeSucceeded, ""},
		{"ended after its last event", []string{message, completed}, cliagent.End{Final: true, StopReason: cliagent.StopLinger, ExitCode: -1, Signal: syscall.SIGTERM}, sdk.OutcomeSucceeded, ""},
		{"completed, but another exit code", []string{message, completed}, cliagent.End{Final: true, ExitCode: 1}, sdk.OutcomeInfrastructure, ""},
		{"exit code 0 without an end of the turn", []string{message}, cliagent.End{}, sdk.OutcomeInfrastructure, ""},
		{"failed and completed", []string{message, failed, completed}, good, sdk.OutcomeFailed, "x"},
		{"failed without a message", []string{`{"type":"turn.failed"}`}, cliagent.End{Final: true, ExitCode: 1}, sdk.OutcomeFailed, ""},
		{"an error and then nothing", []string{message, limited}, cliagent.End{ExitCode: 1}, sdk.OutcomeRateLimited, "429"},
		{"an error at the end", []string{message, trouble, completed}, good, sdk.OutcomeInfrastructure, "503"},
		{"an odd error at the end", []string{message, odd, completed}, good, sdk.OutcomeFailed, "something odd"},
		{"an error before a message", []string{trouble, message, completed}, good, sdk.OutcomeSucceeded, ""},
		{"a retry", []string{message, retrying, completed}, good, sdk.OutcomeSucceeded, ""},
		{"a retry after an error", []string{message, odd, retrying, completed}, good, sdk.OutcomeFailed, "something odd"},
		{"a warning", []string{message, warning, completed}, good, sdk.OutcomeSucceeded, ""},
		{"a retry and then nothing", []string{retrying}, cliagent.End{ExitCode: 1}, sdk.OutcomeNeedsPerson, "401"},
		{"an error and a signal", []string{trouble}, cliagent.End{ExitCode: -1, Signal: syscall.SIGKILL}, sdk.OutcomeInfrastructure, "signal 9"},
		{"nothing but an end", []string{completed}, good, sdk.OutcomeEmpty, "nothing"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := newStream(&plugintest.Exchange{})
			for _, event := range append([]string{`{"type":"thread.started","thread_id":"t"}`}, tt.events...) {
				s.events.Line([]byte(event))
			}
			got, f := verdict(s, tt.end)
			if got != tt.want || (f == nil) != (got == sdk.OutcomeSucceeded) {
				t.Fatalf("verdict %q, %v; want %q", got, f, tt.want)
			}
			if f != nil && !strings.Contains(f.Message, tt.message) {
				t.Errorf("message %q, want %q in it", f.Message, tt.message)
			}
		})
	}
}

// TestMessagesAreBounded: a command that prints endless errors does not delay the verdict.
func TestMessagesAreBounded(t *testing.T) {
	got := errorMessages("at work\nerror: first\n" + strings.Repeat("ERROR: more\n", 2*maxMessages))
	if len(got) != maxMessages || got[0] != "error: first\n" {
		t.Errorf("%d messages that begin with %q, want %d", len(got), got[0], maxMessages)
	}
}

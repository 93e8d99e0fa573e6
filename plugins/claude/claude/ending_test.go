package claude

import (
	"testing"

	"github.com/dodo-digital/agent-pipelines/plugin-sdk/outcome"
)

// A result event without a message is told by its kind, with the reason if there is one.
func TestEndingWithoutMessage(t *testing.T) {
	for want, r := range map[string]resultEvent{
		"ended with error_max_turns":             {Subtype: "error_max_turns", IsError: true},
		"ended with error_max_turns (max_turns)": {Subtype: "error_max_turns", TerminalReason: "max_turns", IsError: true},
	} {
		var e outcome.Evidence
		r.judge(&e)
		if e.Fault.Message != want {
			t.Errorf("%q, want %q", e.Fault.Message, want)
		}
	}
}

package claude

import (
	"testing"
	"time"

	"github.com/dodo-digital/agent-pipelines/plugin-sdk/outcome"
)

// TestMessages classifies error messages that only Claude Code has; package outcome tests the messages of all agents.
func TestMessages(t *testing.T) {
	tests := map[string]outcome.Class{
		"Not logged in · Please run /login":                                       outcome.Login,
		"No conversation found with session ID: 1":                                outcome.Config,
		"Error: When using --print, --output-format requires --verbose":           outcome.Config,
		"--dangerously-skip-permissions cannot be used with root/sudo privileges": outcome.Setup,
		"I fixed the tests": outcome.Failed,
	}
	for text, want := range tests {
		if got := classifier.Classify(outcome.Fault{Message: text}, time.Time{}).Class; got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

// TestErrorCodes classifies the error codes that only Claude Code has, as in the version of the recorded streams.
func TestErrorCodes(t *testing.T) {
	tests := map[string]outcome.Class{
		"oauth_org_not_allowed": outcome.Login, "cloud_credential_error": outcome.Login,
		"account_on_hold": outcome.Forbidden, "verification_required": outcome.Forbidden,
		"error_max_turns": outcome.TurnLimit, "error_max_budget_usd": outcome.CostLimit, "error_during_execution": outcome.Failed, "completed": outcome.Failed,
	}
	for word, want := range tests {
		if got := classifier.Classify(outcome.Fault{Codes: []string{word}}, time.Time{}).Class; got != want {
			t.Errorf("%s: %q, want %q", word, got, want)
		}
	}
}

package claude

import (
	"testing"
	"time"

	"github.com/dodo-digital/agent-pipelines/plugin-sdk/outcome"
)

// TestMessages classifies error messages of Claude Code.
func TestMessages(t *testing.T) {
	tests := map[string]outcome.Class{
		"Invalid API key · Fix external API key":                                  outcome.Login,
		"Not logged in · Please run /login":                                       outcome.Login,
		"OAuth token has expired":                                                 outcome.Login,
		"Credit balance is too low":                                               outcome.Billing,
		"You've hit your monthly spend limit.":                                    outcome.Billing,
		"Claude usage limit reached. Your limit will reset at 3pm":                outcome.RateLimited,
		"You've hit your session limit · resets 3pm":                              outcome.RateLimited,
		"API Error: Request rejected (429) · slow down":                           outcome.RateLimited,
		"API Error: Connection refused (ECONNREFUSED)":                            outcome.Unavailable,
		"API Error: 500 Internal server error":                                    outcome.Unavailable,
		"API Error: 529 Overloaded. This is a server-side issue":                  outcome.Unavailable,
		"There's an issue with the selected model (x). It may not exist":          outcome.ModelUnknown,
		"Prompt is too long":                                                      outcome.TooLong,
		"No conversation found with session ID: 1":                                outcome.Config,
		"Error: When using --print, --output-format requires --verbose":           outcome.Config,
		"--dangerously-skip-permissions cannot be used with root/sudo privileges": outcome.Setup,
		"I fixed the tests":                                                       outcome.Failed,
	}
	for text, want := range tests {
		if got := classifier.Classify(outcome.Fault{Message: text}, time.Time{}).Class; got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

// TestWords classifies the error words of the version whose streams are recorded.
func TestWords(t *testing.T) {
	tests := map[string]outcome.Class{
		"authentication_failed": outcome.Login, "oauth_org_not_allowed": outcome.Login, "cloud_credential_error": outcome.Login,
		"account_on_hold": outcome.Forbidden, "verification_required": outcome.Forbidden, "billing_error": outcome.Billing,
		"rate_limit": outcome.RateLimited, "overloaded": outcome.Unavailable, "server_error": outcome.Unavailable,
		"invalid_request": outcome.Refused, "model_not_found": outcome.ModelUnknown, "max_output_tokens": outcome.OutputLimit,
		"unknown": outcome.Failed, "prompt_too_long": outcome.TooLong, "api_error": outcome.Failed, "completed": outcome.Failed,
		"error_max_turns": outcome.TurnLimit, "error_max_budget_usd": outcome.CostLimit, "error_during_execution": outcome.Failed,
	}
	for word, want := range tests {
		if got := classifier.Classify(outcome.Fault{Codes: []string{word}}, time.Time{}).Class; got != want {
			t.Errorf("%s: %q, want %q", word, got, want)
		}
	}
}

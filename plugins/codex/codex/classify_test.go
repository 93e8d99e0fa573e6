package codex

import (
	"testing"
	"time"

	"github.com/dodo-digital/agent-pipelines/plugin-sdk/outcome"
)

// TestMessages classifies error messages that only Codex has; package outcome tests the messages of all agents.
func TestMessages(t *testing.T) {
	tests := map[string]outcome.Class{
		"Missing environment variable: `OPENAI_API_KEY`.":                                outcome.Login,
		"Access blocked by Cloudflare. This usually happens when (status 403 Forbidden)": outcome.Forbidden,
		"To use Codex with your ChatGPT plan, upgrade to Plus":                           outcome.Billing,
		"Reconnecting... waiting for network":                                            outcome.Unavailable,
		"Not inside a trusted directory and --skip-git-repo-check was not specified.":    outcome.Config,
		"error: unexpected argument '--frob' found":                                      outcome.Config,
		"turn aborted. Something went wrong?":                                            outcome.Failed,
		"":                                                                               outcome.Failed,
	}
	for text, want := range tests {
		if got := classifier.Classify(outcome.Fault{Message: text}, time.Time{}).Class; got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

func TestPickMessage(t *testing.T) {
	const (
		first  = "Reconnecting... 1/2 (unexpected status 503)"
		second = "Reconnecting... 2/2 (unexpected status 503)"
		older  = "stream error: closed; retrying 1/5 in 200ms"
		final  = "unexpected status 503 Service Unavailable"
	)
	tests := []struct{ older, newer, want string }{
		{"", first, first},
		{first, second, second},
		{older, first, first},
		{first, final, final},
		{final, first, final},
		{final, "", final},
		{final, "another", "another"},
	}
	for _, tt := range tests {
		if got := pickMessage(tt.older, tt.newer); got != tt.want {
			t.Errorf("pickMessage(%q, %q) = %q, want %q", tt.older, tt.newer, got, tt.want)
		}
	}
}

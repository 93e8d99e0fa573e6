package codex

import (
	"testing"
	"time"

	"github.com/dodo-digital/agent-pipelines/plugin-sdk/outcome"
)

// TestMessages classifies error messages of Codex.
func TestMessages(t *testing.T) {
	tests := map[string]outcome.Class{
		"unexpected status 401 Unauthorized: Incorrect API key provided":                 outcome.Login,
		"Missing environment variable: `OPENAI_API_KEY`.":                                outcome.Login,
		"unexpected status 403 Forbidden: no":                                            outcome.Forbidden,
		"Access blocked by Cloudflare. This usually happens when (status 403 Forbidden)": outcome.Forbidden,
		"Quota exceeded. Check your plan and billing details.":                           outcome.Billing,
		"To use Codex with your ChatGPT plan, upgrade to Plus":                           outcome.Billing,
		"exceeded retry limit, last status: 429 Too Many Requests":                       outcome.RateLimited,
		"You've hit your usage limit. Try again at 3:05 PM.":                             outcome.RateLimited,
		"We're currently experiencing high demand, which may cause":                      outcome.Unavailable,
		"unexpected status 503 Service Unavailable: down":                                outcome.Unavailable,
		"exceeded retry limit, last status: 500":                                         outcome.Unavailable,
		"Selected model is at capacity. Please try a different model.":                   outcome.Unavailable,
		"Connection failed: error sending request":                                       outcome.Unavailable,
		"Reconnecting... waiting for network":                                            outcome.Unavailable,
		"Codex ran out of room in the model's context window.":                           outcome.TooLong,
		"unexpected status 400 Bad Request: no":                                          outcome.Refused,
		"unexpected status 404 Not Found: no":                                            outcome.ModelUnknown,
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
			t.Errorf("graver(%q, %q) = %q, want %q", tt.older, tt.newer, got, tt.want)
		}
	}
}

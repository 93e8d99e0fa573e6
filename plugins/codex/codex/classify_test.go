package codex

import (
	"testing"

	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
)

func TestByText(t *testing.T) {
	tests := map[string]sdk.Outcome{
		"unexpected status 401 Unauthorized: Incorrect API key provided": sdk.OutcomeNeedsPerson,
		"unexpected status 403 Forbidden: no":                            sdk.OutcomeNeedsPerson,
		"Missing environment variable: `OPENAI_API_KEY`.":                sdk.OutcomeNeedsPerson,
		"Quota exceeded. Check your plan and billing details.":           sdk.OutcomeNeedsPerson,
		"exceeded retry limit, last status: 429 Too Many Requests":       sdk.OutcomeRateLimited,
		"You've hit your usage limit. Try again at 3:05 PM.":             sdk.OutcomeRateLimited,
		"We're currently experiencing high demand, which may cause":      sdk.OutcomeInfrastructure,
		"unexpected status 503 Service Unavailable: down":                sdk.OutcomeInfrastructure,
		"exceeded retry limit, last status: 500":                         sdk.OutcomeInfrastructure,
		"Selected model is at capacity. Please try a different model.":   sdk.OutcomeInfrastructure,
		"Connection failed: error sending request":                       sdk.OutcomeInfrastructure,
		"Codex ran out of room in the model's context window.":           sdk.OutcomeFailed,
		"unexpected status 400 Bad Request: no":                          sdk.OutcomeFailed,
		"unexpected status 404 Not Found: no":                            sdk.OutcomeFailed,
		"status: 200":                                                    "",
		"the tests":                                                      "",
		"":                                                               "",
	}
	for text, want := range tests {
		c, ok := byText(text)
		if c.outcome != want || ok != (want != "") {
			t.Errorf("%q: %q, %t; want %q", text, c.outcome, ok, want)
		}
	}
}

func TestRetryAfter(t *testing.T) {
	tests := map[string]float64{
		"Rate limit reached. Please try again in 1.5s.": 1.5,
		"try again in 20 seconds":                       20,
		"try again later":                               0,
	}
	for message, want := range tests {
		if got := limited.failure(message, "").RetryAfterSeconds; got != want {
			t.Errorf("%q: %g seconds, want %g", message, got, want)
		}
	}
}

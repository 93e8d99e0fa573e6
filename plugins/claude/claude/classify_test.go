package claude

import (
	"testing"

	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
)

func TestByStatus(t *testing.T) {
	tests := map[int]sdk.Outcome{
		0: "", 200: "", 400: sdk.OutcomeFailed, 401: sdk.OutcomeNeedsPerson, 402: sdk.OutcomeNeedsPerson,
		403: sdk.OutcomeNeedsPerson, 404: sdk.OutcomeFailed, 408: sdk.OutcomeInfrastructure, 413: sdk.OutcomeFailed,
		429: sdk.OutcomeRateLimited, 500: sdk.OutcomeInfrastructure, 503: sdk.OutcomeInfrastructure, 529: sdk.OutcomeInfrastructure,
	}
	for status, want := range tests {
		c, ok := byStatus(status)
		if c.outcome != want || ok != (want != "") {
			t.Errorf("status %d: %q, %t; want %q", status, c.outcome, ok, want)
		}
	}
}

func TestByText(t *testing.T) {
	tests := map[string]sdk.Outcome{
		"Invalid API key · Fix external API key":                        sdk.OutcomeNeedsPerson,
		"Credit balance is too low":                                     sdk.OutcomeNeedsPerson,
		"Claude usage limit reached. Your limit will reset at 3pm":      sdk.OutcomeRateLimited,
		"API Error: Connection refused (ECONNREFUSED)":                  sdk.OutcomeInfrastructure,
		"API Error: 500 Internal server error":                          sdk.OutcomeInfrastructure,
		"Prompt is too long":                                            sdk.OutcomeFailed,
		"No conversation found with session ID: 1":                      sdk.OutcomeFailed,
		"Error: When using --print, --output-format requires --verbose": sdk.OutcomeFailed,
		"I fixed the tests":                                             "",
	}
	for text, want := range tests {
		c, ok := byText(text)
		if c.outcome != want || ok != (want != "") {
			t.Errorf("%q: %q, %t; want %q", text, c.outcome, ok, want)
		}
	}
}

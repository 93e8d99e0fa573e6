package termination

import (
	"testing"

	"github.com/dodo-digital/agent-pipelines/engine/internal/testkit"
	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
)

// U085, K17.
func TestFixed(t *testing.T) {
	stop := func(reason string) sdk.Decision { return sdk.Decision{Action: sdk.DecisionStop, Reason: reason} }
	tests := []struct {
		name string
		req  sdk.DecideRequest
		want sdk.Decision
	}{
		{"before the maximum", sdk.DecideRequest{Iteration: 1, Max: 3}, sdk.Decision{Action: sdk.DecisionContinue}},
		{"at the maximum", sdk.DecideRequest{Iteration: 3, Max: 3}, stop("Completed 3 iterations (max: 3)")},
		{"the agent says stop", sdk.DecideRequest{Iteration: 1, Max: 3, Hint: "stop"}, stop("Agent requested stop at iteration 1")},
		{"the agent says continue", sdk.DecideRequest{Iteration: 3, Max: 3, Hint: "continue"}, stop("Completed 3 iterations (max: 3)")},
		{"early_stop: false", sdk.DecideRequest{Iteration: 1, Max: 3, Hint: "stop", Config: []byte(`{"type":"fixed","early_stop":false}`)}, sdk.Decision{Action: sdk.DecisionContinue}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := testkit.Must(Fixed{}.Decide(t.Context(), tt.req))
			testkit.Equal(t, tt.want, got)
		})
	}
	if _, err := (Fixed{}).Decide(t.Context(), sdk.DecideRequest{Config: []byte("[")}); err == nil {
		t.Error("a broken config was accepted")
	}
}

package termination

import (
	"context"
	"encoding/json"
	"fmt"

	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
)

// Fixed stops after a number of iterations. An agent that explicitly asks to stop ends the stage earlier, unless
// early_stop is false. A suspected plateau does not end it earlier (REQUIREMENTS K17). Fixed has no state and is safe
// for concurrent use.
type Fixed struct{}

// Describe implements sdk.Termination.
func (Fixed) Describe() sdk.Component {
	return sdk.Component{
		Kind: sdk.KindTermination, Name: "fixed", Summary: "a number of iterations",
		ConfigSchema: json.RawMessage(`{"type":"object","properties":{"type":{"const":"fixed"},` +
			`"max":{"type":["integer","string"],"minimum":1},"early_stop":{"type":"boolean","default":true}}}`),
	}
}

// Decide implements sdk.Termination. A config that is not a JSON object is an error.
func (Fixed) Decide(_ context.Context, req sdk.DecideRequest) (sdk.Decision, error) {
	config := struct {
		EarlyStop *bool `json:"early_stop"`
	}{}
	if len(req.Config) > 0 {
		if err := json.Unmarshal(req.Config, &config); err != nil {
			return sdk.Decision{}, fmt.Errorf("read the termination's config: %w", err)
		}
	}
	early := config.EarlyStop == nil || *config.EarlyStop
	switch {
	case req.Hint == "stop" && early:
		return sdk.Decision{Action: sdk.DecisionStop, Reason: fmt.Sprintf("Agent requested stop at iteration %d", req.Iteration)}, nil
	case req.Iteration >= req.Max:
		return sdk.Decision{Action: sdk.DecisionStop, Reason: fmt.Sprintf("Completed %d iterations (max: %d)", req.Iteration, req.Max)}, nil
	default:
		return sdk.Decision{Action: sdk.DecisionContinue}, nil
	}
}

package termination

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"

	"github.com/dodo-digital/agent-pipelines/kernel/plan"
)

// Checks stops when all checks after the attempt of the last iteration have passed. The agent's own decision does not
// count. It has no state and is safe for concurrent use.
type Checks struct{}

// Describe implements sdk.Termination.
func (Checks) Describe() sdk.Component {
	return sdk.Component{
		Kind: sdk.KindTermination, Name: plan.TypeChecks, Summary: "all checks of the node have passed",
		ConfigSchema: json.RawMessage(`{"type":"object","properties":{"type":{"const":"checks"},"max":{"type":["integer","string"],"minimum":1}}}`),
	}
}

// Decide implements sdk.Termination. A node without checks after the attempt, or whose checks are all left out, is an
// error: nothing says when its work is done.
func (Checks) Decide(_ context.Context, req sdk.DecideRequest) (sdk.Decision, error) {
	made, missed := 0, []string{}
	for _, raw := range req.Checks {
		var c MeasuredCheck
		if err := json.Unmarshal(raw, &c); err != nil {
			return sdk.Decision{}, fmt.Errorf("read the facts of a check: %w", err)
		}
		if c.At != plan.AtExit || c.LeftOut {
			continue
		}
		if made++; !c.Passed {
			missed = append(missed, c.ID)
		}
	}
	switch {
	case made == 0:
		return sdk.Decision{Action: sdk.DecisionError, Reason: "no check was made after the iteration"}, nil
	case len(missed) > 0:
		return sdk.Decision{Action: sdk.DecisionContinue, Reason: "did not pass: " + strings.Join(missed, ", ")}, nil
	default:
		return sdk.Decision{Action: sdk.DecisionStop, Reason: "checks passed"}, nil
	}
}

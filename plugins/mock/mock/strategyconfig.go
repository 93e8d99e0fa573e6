package mock

import (
	"bytes"
	"encoding/json"

	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/config"
)

// StrategyConfig is the configuration of the strategy: a node's termination block.
type StrategyConfig struct {
	// Decisions holds one decision for each iteration, beginning with iteration 1. The last decision applies to all
	// later iterations; without decisions, every decision continues.
	Decisions []StrategyDecision `json:"decisions,omitempty"`

	// The keys of a termination block that the kernel and other strategies read. They are ignored, so that the mock can
	// replace the strategy of a stage whose settings a node inherits.
	Type           json.RawMessage `json:"type,omitempty"`
	Max            json.RawMessage `json:"max,omitempty"`
	Iterations     json.RawMessage `json:"iterations,omitempty"`
	MinIterations  json.RawMessage `json:"min_iterations,omitempty"`
	Consensus      json.RawMessage `json:"consensus,omitempty"`
	EarlyStop      json.RawMessage `json:"early_stop,omitempty"`
	CheckBefore    json.RawMessage `json:"check_before,omitempty"`
	Criteria       json.RawMessage `json:"criteria,omitempty"`
	Judge          json.RawMessage `json:"judge,omitempty"`
	OnJudgeFailure json.RawMessage `json:"on_judge_failure,omitempty"`
	Command        json.RawMessage `json:"command,omitempty"`
}

// StrategyDecision is one configured decision. In JSON it may be just the action.
type StrategyDecision struct {
	Fault
	// Action is continue (default), stop, error or ask.
	Action sdk.DecisionAction `json:"action,omitempty"`
	Reason string             `json:"reason,omitempty"`
	// Ask is the question of action ask.
	Ask *Ask `json:"ask,omitempty"`
}

// Ask is a question and the decision for its answer.
type Ask struct {
	Prompt string `json:"prompt"`
	// StopIfContains stops if the answer contains the text. Any other answer continues, as does a failed answer.
	StopIfContains string `json:"stop_if_contains,omitempty"`
}

// UnmarshalJSON implements [json.Unmarshaler]: an action, or an object.
func (d *StrategyDecision) UnmarshalJSON(raw []byte) error {
	if bytes.HasPrefix(bytes.TrimSpace(raw), []byte{'"'}) {
		return json.Unmarshal(raw, &d.Action)
	}
	type plain StrategyDecision
	return config.Decode(raw, (*plain)(d))
}

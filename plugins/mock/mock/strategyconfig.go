package mock

import (
	"bytes"
	"encoding/json"
	"fmt"

	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/config"
)

// StrategyConfig is the configuration of the strategy: a node's termination block.
type StrategyConfig struct {
	// Decisions holds one decision for each iteration, beginning with iteration 1. The last one applies to all
	// later iterations; without any, every decision continues.
	Decisions []StrategyDecision `json:"decisions,omitempty"`
	// Before is the decision before the first iteration. Default continue.
	Before *StrategyDecision `json:"before,omitempty"`

	// The keys that the kernel and other strategies read of a termination block. They are ignored, so that the
	// mock can replace the strategy of a stage whose settings a node inherits.
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
	// Confidence is from 0 to 1.
	Confidence float64 `json:"confidence,omitempty"`
	// State is the state for the next decision. Unset: a [StrategyState] that counts.
	State json.RawMessage `json:"state,omitempty"`
	// Record is stored with the iteration. Unset: a [StrategyRecord].
	Record json.RawMessage `json:"record,omitempty"`
	// Ask is the question of action ask.
	Ask *Ask `json:"ask,omitempty"`
}

// Ask is a question and the decisions for its answers.
type Ask struct {
	Prompt   string `json:"prompt"`
	Provider string `json:"provider,omitempty"`
	Model    string `json:"model,omitempty"`
	// Times is the number of questions in one decision. Default 1, at most [sdk.MaxQuestionRounds].
	Times int `json:"times,omitempty"`
	// StopIfContains stops if the last answer contains the text.
	StopIfContains string `json:"stop_if_contains,omitempty"`
	// Then is the decision otherwise, OnError the decision if the last answer is an error. Default continue.
	Then    sdk.DecisionAction `json:"then,omitempty"`
	OnError sdk.DecisionAction `json:"on_error,omitempty"`
}

// StrategyState is the default state. It counts calls, so that a lost or repeated decision is visible.
type StrategyState struct {
	Calls int `json:"calls"`
}

// StrategyRecord is the default record.
type StrategyRecord struct {
	Iteration int    `json:"iteration"`
	Round     int    `json:"round"`
	Calls     int    `json:"calls"`
	Hint      string `json:"hint"`
	Answer    string `json:"answer,omitempty"`
}

// decodeStrategyConfig decodes and checks a configuration.
func decodeStrategyConfig(raw json.RawMessage) (StrategyConfig, error) {
	var c StrategyConfig
	if err := config.Decode(raw, &c); err != nil {
		return StrategyConfig{}, err
	}
	var problems []string
	if c.Before != nil {
		for _, problem := range c.Before.check() {
			problems = append(problems, "before: "+problem)
		}
	}
	for i, d := range c.Decisions {
		for _, problem := range d.check() {
			problems = append(problems, fmt.Sprintf("decisions[%d]: %s", i, problem))
		}
	}
	return c, configError(problems)
}

// UnmarshalJSON implements [json.Unmarshaler]: an action, or an object.
func (d *StrategyDecision) UnmarshalJSON(raw []byte) error {
	if bytes.HasPrefix(bytes.TrimSpace(raw), []byte{'"'}) {
		return json.Unmarshal(raw, &d.Action)
	}
	type plain StrategyDecision
	return config.Decode(raw, (*plain)(d))
}

func (d StrategyDecision) check() []string {
	problems := append(d.Fault.check(), checkWord("action", d.Action,
		sdk.DecisionContinue, sdk.DecisionStop, sdk.DecisionError, sdk.DecisionAsk)...)
	if d.Confidence < 0 || d.Confidence > 1 {
		problems = append(problems, "confidence must be from 0 to 1")
	}
	if (d.Action == sdk.DecisionAsk) != (d.Ask != nil) {
		problems = append(problems, "action ask and a question in ask belong together")
	}
	if d.Ask == nil {
		return problems
	}
	problems = append(problems, checkWord("ask.then", d.Ask.Then, sdk.DecisionContinue, sdk.DecisionStop, sdk.DecisionError)...)
	problems = append(problems, checkWord("ask.on_error", d.Ask.OnError, sdk.DecisionContinue, sdk.DecisionStop, sdk.DecisionError)...)
	if d.Ask.Prompt == "" {
		problems = append(problems, "ask.prompt is missing")
	}
	if d.Ask.Times < 0 || d.Ask.Times > sdk.MaxQuestionRounds {
		problems = append(problems, fmt.Sprintf("ask.times must be from 1 to %d", sdk.MaxQuestionRounds))
	}
	return problems
}

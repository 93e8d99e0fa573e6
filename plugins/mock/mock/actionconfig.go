package mock

import (
	"encoding/json"

	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/config"
)

// ActionConfig is the configuration of the hook action.
type ActionConfig struct {
	Answer
	// Record is a file to which every request is appended as a line of JSON. Relative to the work directory.
	Record string `json:"record,omitempty"`
}

// Answer is a configured reply of the hook action. The zero value continues.
type Answer struct {
	Fault
	// Reply is continue (default), pause, abort, restart_stage or modify_context.
	Reply   sdk.Action `json:"answer,omitempty"`
	Reason  string     `json:"reason,omitempty"`
	Context string     `json:"context,omitempty"`
	// Facts are the measurement of a check, an object.
	Facts   json.RawMessage `json:"facts,omitempty"`
	Outcome string          `json:"outcome,omitempty"`
}

// decodeActionConfig decodes and checks a configuration.
func decodeActionConfig(raw json.RawMessage) (ActionConfig, error) {
	var c ActionConfig
	if err := config.Decode(raw, &c); err != nil {
		return ActionConfig{}, err
	}
	return c, configError(c.check())
}

func (a Answer) check() []string {
	problems := append(a.Fault.check(), checkWord("answer", a.Reply,
		sdk.ActionContinue, sdk.ActionPause, sdk.ActionAbort, sdk.ActionRestartStage, sdk.ActionModifyContext)...)
	if a.Facts != nil && !isObject(a.Facts) {
		problems = append(problems, "facts must be an object")
	}
	return problems
}

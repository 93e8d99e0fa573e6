package mock

import (
	"encoding/json"
	"fmt"

	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/config"
)

// ActionConfig is the configuration of the hook action. Its own [Answer] applies if none of Answers matches.
type ActionConfig struct {
	Answer
	// Answers are tried in order; the first match is returned.
	Answers []MatchedAnswer `json:"answers,omitempty"`
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

// MatchedAnswer is an answer for some firings. Unset members match everything.
type MatchedAnswer struct {
	Answer
	Point     sdk.HookPoint `json:"point,omitempty"`
	Node      string        `json:"node,omitempty"`
	Stage     string        `json:"stage,omitempty"`
	Iteration int           `json:"iteration,omitempty"`
	Provider  string        `json:"provider,omitempty"`
	Status    string        `json:"status,omitempty"`
}

// decodeActionConfig decodes and checks a configuration.
func decodeActionConfig(raw json.RawMessage) (ActionConfig, error) {
	var c ActionConfig
	if err := config.Decode(raw, &c); err != nil {
		return ActionConfig{}, err
	}
	problems := c.check()
	for i, answer := range c.Answers {
		for _, problem := range answer.check() {
			problems = append(problems, fmt.Sprintf("answers[%d]: %s", i, problem))
		}
	}
	return c, configError(problems)
}

func (a Answer) check() []string {
	problems := append(a.Fault.check(), checkWord("answer", a.Reply,
		sdk.ActionContinue, sdk.ActionPause, sdk.ActionAbort, sdk.ActionRestartStage, sdk.ActionModifyContext)...)
	if a.Facts != nil && !isObject(a.Facts) {
		problems = append(problems, "facts must be an object")
	}
	return problems
}

package mock

import (
	"encoding/json"
	"testing"

	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/plugintest"
)

func TestProviderConforms(t *testing.T) {
	plugintest.Provider(t, plugintest.ProviderConfig{
		New:    func(testing.TB) sdk.Provider { return NewProvider() },
		Normal: plugintest.Case{Prompt: "hello"},
		Slow:   plugintest.Case{Config: json.RawMessage(`{"replies":[{"hang":true}]}`)},
		Large:  plugintest.Case{Config: json.RawMessage(`{"replies":[{"output":"0123456789abcdef","output_repeat":300000}]}`)},
		Full: &plugintest.Case{Config: json.RawMessage(`{"replies":[{"usage":{"input_tokens":1,"output_tokens":2,"cost_usd":0.5},"tool_calls":[
			{"tool":"look"},{"tool":"write","gated":true,"checkpoint":true},{"tool":"send","gated":true}]}]}`)},
		Refused: []json.RawMessage{json.RawMessage(`{"replys":[]}`), json.RawMessage(`{"replies":[{"crash":"softly"}]}`)},
	})
}

func TestStrategyConforms(t *testing.T) {
	plugintest.Termination(t, plugintest.TerminationConfig{
		New:    func(testing.TB) sdk.Termination { return NewStrategy() },
		Config: json.RawMessage(`{"type":"mock","decisions":["continue",{"action":"ask","ask":{"prompt":"done?","stop_if_contains":"yes"}},"error"]}`),
		Cases: []plugintest.DecideCase{
			{Name: "continue", Request: sdk.DecideRequest{Iteration: 1}, Want: sdk.DecisionContinue},
			{Name: "ask", Request: sdk.DecideRequest{Iteration: 2}, Want: sdk.DecisionAsk},
			{Name: "stop", Request: sdk.DecideRequest{Iteration: 2, Round: 1, Answer: &sdk.Answer{Output: "yes"}}, Want: sdk.DecisionStop},
			{Name: "error", Request: sdk.DecideRequest{Iteration: 3}, Want: sdk.DecisionError},
		},
		Refused: []json.RawMessage{json.RawMessage(`{"decisions":["halt"]}`)},
	})
}

func TestActionConforms(t *testing.T) {
	plugintest.HookAction(t, plugintest.HookActionConfig{
		New:    func(testing.TB) sdk.HookAction { return NewAction() },
		Config: json.RawMessage(`{"answer":"pause","reason":"look","facts":{"n":1}}`),
		Cases: []plugintest.HookCase{
			{Name: "continue", Request: sdk.HookRequest{Point: sdk.StageStart, Config: json.RawMessage(`{}`)}, Want: sdk.ActionContinue},
			{Name: "pause", Request: sdk.HookRequest{Point: sdk.StageEnd}, Want: sdk.ActionPause},
		},
		Refused: []json.RawMessage{json.RawMessage(`{"answer":"halt"}`)},
	})
}

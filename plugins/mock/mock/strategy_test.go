package mock

import (
	"encoding/json"
	"errors"
	"testing"

	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
)

// decisionFor returns the decision of a configuration that must cause no error.
func decisionFor(t *testing.T, config string, req sdk.DecideRequest) sdk.Decision {
	t.Helper()
	req.Config = json.RawMessage(config)
	d := must(NewStrategy().Decide(t.Context(), req))
	return d
}

func TestDecisions(t *testing.T) {
	const (
		list = `{"type":"mock","max":9,"decisions":["continue",{"reason":"more"},{"action":"stop","reason":"done"}]}`
		ask  = `{"decisions":[{"action":"ask","reason":"asked","ask":{"prompt":"done?","stop_if_contains":"yes"}}]}`
	)
	tests := []struct {
		name, config string
		iteration    int
		round        int
		answer       *sdk.Answer
		want         sdk.Decision
	}{
		{"default", `{}`, 3, 0, nil, sdk.Decision{Action: sdk.DecisionContinue}},
		{"before the first iteration", `{"decisions":["stop"]}`, 0, 0, nil, sdk.Decision{Action: sdk.DecisionContinue}},
		{"first", list, 1, 0, nil, sdk.Decision{Action: sdk.DecisionContinue}},
		{"second", list, 2, 0, nil, sdk.Decision{Action: sdk.DecisionContinue, Reason: "more"}},
		{"third", list, 3, 0, nil, sdk.Decision{Action: sdk.DecisionStop, Reason: "done"}},
		{"the last one holds", list, 7, 0, nil, sdk.Decision{Action: sdk.DecisionStop, Reason: "done"}},
		{"question", ask, 1, 0, nil, sdk.Decision{Action: sdk.DecisionAsk, Reason: "asked", Question: &sdk.Question{Prompt: "done?"}}},
		{"yes", ask, 1, 1, &sdk.Answer{Output: "oh yes"}, sdk.Decision{Action: sdk.DecisionStop, Reason: "asked"}},
		{"no", ask, 1, 1, &sdk.Answer{Output: "no"}, sdk.Decision{Action: sdk.DecisionContinue, Reason: "asked"}},
		{"partial text of a failure", ask, 1, 1, &sdk.Answer{Output: "yes", Error: "down"}, sdk.Decision{Action: sdk.DecisionContinue, Reason: "asked"}},
		{"no answer", ask, 1, 1, nil, sdk.Decision{Action: sdk.DecisionContinue, Reason: "asked"}},
		{"any answer", `{"decisions":[{"action":"ask","ask":{"prompt":"?"}}]}`, 1, 1, &sdk.Answer{Output: "anything"}, sdk.Decision{Action: sdk.DecisionContinue}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := decisionFor(t, tt.config, sdk.DecideRequest{Iteration: tt.iteration, Round: tt.round, Answer: tt.answer})
			compare(t, tt.want, got)
		})
	}
}

func TestStrategyFaults(t *testing.T) {
	var ends []processEnd
	s := &Strategy{process: process{end: func(how string, code int) { ends = append(ends, processEnd{how, code}) }}}
	_, err := s.Decide(t.Context(), sdk.DecideRequest{Iteration: 1, Config: json.RawMessage(`{"decisions":[{"delay_ms":1,"failure":{"message":"broken"}}]}`)})
	if failure.KindOf(err) != failure.StrategyFailed || err.Error() != "broken" {
		t.Errorf("failure: %v", err)
	}
	_, err = s.Decide(t.Context(), sdk.DecideRequest{Iteration: 1, Config: json.RawMessage(`{"decisions":[{"crash":"exit"}]}`)})
	if !errors.Is(err, errCrash) || len(ends) != 1 || ends[0] != (processEnd{"exit", 0}) {
		t.Errorf("crash: %v, %v", err, ends)
	}
}

func TestUnusableStrategy(t *testing.T) {
	tests := []struct{ config, want string }{
		{`{"decision":[]}`, `config: unknown key "decision", did you mean "decisions"?`},
		{`{"decisions":[{"actoin":"stop"}]}`, `config: unknown key "actoin", did you mean "action"?`},
		{`{"decisions":["halt"]}`, `config: /decisions/0: value must be one of 'continue', 'stop', 'error'`},
		{`{"decisions":[{"action":"ask"}]}`, `config: /decisions/0: missing property 'ask'`},
		{`{"decisions":[{"action":"stop","ask":{"prompt":"?"}}]}`, `config: /decisions/0/action: value must be 'ask'`},
		{`{"decisions":[{"action":"ask","ask":{}}]}`, `config: /decisions/0/ask: missing property 'prompt'`},
		{`{"decisions":[7]}`, `config must be an object, not a number`},
	}
	for _, tt := range tests {
		err := NewStrategy().Validate(t.Context(), sdk.ValidateRequest{Config: json.RawMessage(tt.config)})
		if err == nil || err.Error() != tt.want || failure.KindOf(err) != failure.ConfigInvalid {
			t.Errorf("%s: got %v, want %s", tt.config, err, tt.want)
		}
		if _, err := NewStrategy().Decide(t.Context(), sdk.DecideRequest{Config: json.RawMessage(tt.config)}); err == nil || err.Error() != tt.want {
			t.Errorf("%s: Decide: got %v", tt.config, err)
		}
	}
}

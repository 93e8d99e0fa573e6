package mock

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
)

// decisionSummary is the part of a decision that most tests compare.
type decisionSummary struct {
	Action   sdk.DecisionAction
	Reason   string
	Question string
}

func decide(t *testing.T, config string, req sdk.DecideRequest) sdk.Decision {
	t.Helper()
	req.Config = json.RawMessage(config)
	d, err := NewStrategy().Decide(t.Context(), req)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func summarize(d sdk.Decision) decisionSummary {
	b := decisionSummary{Action: d.Action, Reason: d.Reason}
	if d.Question != nil {
		b.Question = strings.Join([]string{d.Question.Prompt, d.Question.Provider, d.Question.Model}, "/")
	}
	return b
}

func TestDecisionsByIteration(t *testing.T) {
	const list = `{"type":"mock","max":9,"decisions":["continue",{"reason":"more"},{"action":"stop","reason":"done","confidence":0.5}],"before":"error"}`
	tests := []struct {
		config    string
		iteration int
		want      decisionSummary
	}{
		{`{}`, 3, decisionSummary{Action: sdk.DecisionContinue}},
		{`{"decisions":["stop"]}`, 0, decisionSummary{Action: sdk.DecisionContinue}},
		{list, 0, decisionSummary{Action: sdk.DecisionError}},
		{list, 1, decisionSummary{Action: sdk.DecisionContinue}},
		{list, 2, decisionSummary{Action: sdk.DecisionContinue, Reason: "more"}},
		{list, 3, decisionSummary{Action: sdk.DecisionStop, Reason: "done"}},
		{list, 7, decisionSummary{Action: sdk.DecisionStop, Reason: "done"}},
	}
	for _, tt := range tests {
		if diff := cmp.Diff(tt.want, summarize(decide(t, tt.config, sdk.DecideRequest{Iteration: tt.iteration}))); diff != "" {
			t.Errorf("%s at %d (-want +got)\n%s", tt.config, tt.iteration, diff)
		}
	}
	if got := decide(t, list, sdk.DecideRequest{Iteration: 3}).Confidence; got != 0.5 {
		t.Errorf("confidence %v", got)
	}
}

func TestAsk(t *testing.T) {
	const ask = `{"decisions":[{"action":"ask","reason":"asked","ask":{"prompt":"done?","provider":"p","model":"m","times":2,"stop_if_contains":"yes","then":"continue","on_error":"error"}}]}`
	question := decisionSummary{sdk.DecisionAsk, "asked", "done?/p/m"}
	tests := []struct {
		name   string
		config string
		round  int
		answer *sdk.Answer
		want   decisionSummary
	}{
		{"first", ask, 0, nil, question},
		{"second", ask, 1, &sdk.Answer{Output: "yes"}, question},
		{"yes", ask, 2, &sdk.Answer{Output: "oh yes"}, decisionSummary{sdk.DecisionStop, "asked", ""}},
		{"no", ask, 2, &sdk.Answer{Output: "no"}, decisionSummary{sdk.DecisionContinue, "asked", ""}},
		{"error", ask, 2, &sdk.Answer{Output: "yes", Error: "down"}, decisionSummary{sdk.DecisionError, "asked", ""}},
		{"no answer", ask, 2, nil, decisionSummary{sdk.DecisionError, "asked", ""}},
		{"defaults ask once", `{"decisions":[{"action":"ask","ask":{"prompt":"?"}}]}`, 1, &sdk.Answer{Output: "anything"}, decisionSummary{Action: sdk.DecisionContinue}},
		{"then", `{"decisions":[{"action":"ask","ask":{"prompt":"?","then":"stop"}}]}`, 1, &sdk.Answer{Output: ""}, decisionSummary{Action: sdk.DecisionStop}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := decide(t, tt.config, sdk.DecideRequest{Iteration: 1, Round: tt.round, Answer: tt.answer})
			if diff := cmp.Diff(tt.want, summarize(got)); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

func TestStrategyState(t *testing.T) {
	first := decide(t, `{}`, sdk.DecideRequest{Iteration: 1, Hint: "continue"})
	second := decide(t, `{}`, sdk.DecideRequest{Iteration: 2, Hint: "stop", Round: 1, Answer: &sdk.Answer{Output: "so"}, State: first.State})
	got := []string{string(first.State), string(first.Record), string(second.State), string(second.Record)}
	want := []string{
		`{"calls":1}`, `{"iteration":1,"round":0,"calls":1,"hint":"continue"}`,
		`{"calls":2}`, `{"iteration":2,"round":1,"calls":2,"hint":"stop","answer":"so"}`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}

	own := decide(t, `{"decisions":[{"state":[1],"record":"mine"}]}`, sdk.DecideRequest{Iteration: 1, State: json.RawMessage(`"foreign"`)})
	if string(own.State) != `[1]` || string(own.Record) != `"mine"` {
		t.Errorf("state %s, record %s", own.State, own.Record)
	}
	_, err := NewStrategy().Decide(t.Context(), sdk.DecideRequest{Iteration: 1, State: json.RawMessage(`"foreign"`)})
	if failure.KindOf(err) != failure.StrategyFailed {
		t.Errorf("a foreign state: %v", err)
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
		{`{"decisions":["halt"]}`, `config: decisions[0]: action is "halt", want one of continue, stop, error, ask`},
		{`{"before":{"confidence":2}}`, `config: before: confidence must be from 0 to 1`},
		{`{"decisions":["ask"]}`, `config: decisions[0]: action ask and a question in ask belong together`},
		{`{"decisions":[{"ask":{"prompt":"?"}}]}`, `config: decisions[0]: action ask and a question in ask belong together`},
		{
			`{"decisions":[{"action":"ask","ask":{"then":"ask","on_error":"x","times":5}}]}`,
			`config: decisions[0]: ask.then is "ask", want one of continue, stop, error; decisions[0]: ask.on_error is "x", want one of continue, stop, error; ` +
				`decisions[0]: ask.prompt is missing; decisions[0]: ask.times must be from 1 to 4`,
		},
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

func TestRelease(t *testing.T) {
	path := filepath.Join(t.TempDir(), "released")
	env := map[string]string{}
	s := &Strategy{process: process{getenv: func(name string) string { return env[name] }}}
	for _, session := range []string{"unheard", "one", "two"} {
		if err := s.Release(t.Context(), session); err != nil {
			t.Fatal(err)
		}
		env[envReleaseFile] = path
	}
	got, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != "one\ntwo\n" {
		t.Errorf("released %q", got)
	}
}

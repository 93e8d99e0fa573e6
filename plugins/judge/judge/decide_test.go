package judge

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// fixture is a strategy with a project and an environment.
type fixture struct {
	*Strategy
	dir string
	env map[string]string
	req sdk.DecideRequest
}

// newFixture returns a fixture with a prompt and a request about iteration 5 under the default configuration.
func newFixture(t *testing.T) *fixture {
	t.Helper()
	b := &fixture{dir: t.TempDir(), env: map[string]string{}}
	b.Strategy = &Strategy{getenv: func(name string) string { return b.env[name] }}
	b.req = sdk.DecideRequest{Session: "s", Node: "refine", Iteration: 5, WorkDir: b.dir, Hint: "continue"}
	b.write(t, "scripts/prompts/judge.md", "project judge\n")
	return b
}

func (b *fixture) write(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(b.dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

func (b *fixture) decide(t *testing.T) sdk.Decision {
	t.Helper()
	d, err := b.Decide(t.Context(), b.req)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

const (
	stopReply     = `{"stop": true, "reason": "flat", "confidence": 0.5}`
	continueReply = `{"stop": false, "reason": "more to do"}`

	stopRecord     = `{"confidence":0.5,"reason":"flat","stop":true}`
	continueRecord = `{"confidence":0,"reason":"more to do","stop":false}`
)

func TestDecide(t *testing.T) {
	tests := []struct {
		name   string
		config string
		change func(*fixture)
		action sdk.DecisionAction
		reason string
		state  State
		record string
	}{
		{"before the minimum", `{"min_iterations":6}`, func(*fixture) {}, sdk.DecisionContinue, "min_iterations is 6", State{0, 0}, ""},
		{"minimum as a text", `{"min_iterations":"6"}`, func(*fixture) {}, sdk.DecisionContinue, "min_iterations is 6", State{0, 0}, ""},
		{"before the first iteration", `{"min_iterations":0}`, func(b *fixture) { b.req.Iteration = 0 }, sdk.DecisionContinue, "min_iterations is 0", State{0, 0}, ""},
		{"at the minimum", `{"type":"judgment","max":25,"min_iterations":5}`, func(*fixture) {}, sdk.DecisionAsk, "", State{0, 0}, ""},
		{"an agent's error", `{"min_iterations":9}`, func(b *fixture) { b.req.Hint = "error" }, sdk.DecisionError, "the agent reported an error", State{0, 0}, ""},
		{"a stop hint of an agent is not a verdict", ``, func(b *fixture) { b.req.Hint = "stop" }, sdk.DecisionAsk, "", State{0, 0}, ""},
		{"first stop", ``, withAnswer(1, stopReply, ""), sdk.DecisionContinue, "stop suggested but not confirmed (1/2): flat", State{1, 0}, stopRecord},
		{"first stop without a reason", ``, withAnswer(1, `{"stop":true}`, ""), sdk.DecisionContinue, "stop suggested but not confirmed (1/2)", State{1, 0}, `{"confidence":0,"reason":"","stop":true}`},
		{"second stop", `null`, withState(`{"stops":1}`, withAnswer(1, stopReply, "")), sdk.DecisionStop, "flat", State{2, 0}, stopRecord},
		{"second stop without a reason", ``, withState(`{"stops":1}`, withAnswer(1, `{"stop":true}`, "")), sdk.DecisionStop, "the judge said stop 2 times in a row", State{2, 0}, `{"confidence":0,"reason":"","stop":true}`},
		{"second of three", `{"consensus":3}`, withState(`{"stops":1}`, withAnswer(1, stopReply, "")), sdk.DecisionContinue, "stop suggested but not confirmed (2/3): flat", State{2, 0}, stopRecord},
		{"one is enough", `{"consensus":"1"}`, withAnswer(1, stopReply, ""), sdk.DecisionStop, "flat", State{1, 0}, stopRecord},
		{"a no breaks the row", ``, withState(`{"stops":1}`, withAnswer(1, continueReply, "")), sdk.DecisionContinue, "more to do", State{0, 0}, continueRecord},
		{"success ends the row of failures", ``, withState(`{"stops":0,"judge_failures":2}`, withAnswer(2, continueReply, "")), sdk.DecisionContinue, "more to do", State{0, 0}, continueRecord},
		{"first call fails", ``, withAnswer(1, "", "boom"), sdk.DecisionAsk, "", State{0, 0}, ""},
		{"both calls fail, which counts neither way", ``, withState(`{"stops":1}`, withAnswer(2, stopReply, "boom")), sdk.DecisionContinue, "invoke_failed", State{1, 1}, ""},
		{"one attempt only", `{"judge":{"attempts":1}}`, withAnswer(1, "", "boom"), sdk.DecisionContinue, "invoke_failed", State{0, 1}, ""},
		{"invalid JSON", ``, withState(`{"stops":1}`, withAnswer(1, "you should stop", "")), sdk.DecisionContinue, "invalid_json", State{1, 1}, ""},
		{"third failure", ``, withState(`{"judge_failures":2}`, withAnswer(1, "?", "")), sdk.DecisionContinue, "judge_unreliable", State{0, 3}, ""},
		{"no question after the third failure", ``, withState(`{"stops":1,"judge_failures":3}`, func(*fixture) {}), sdk.DecisionContinue, "judge_unreliable", State{1, 3}, ""},
		{"a higher max_failures", `{"judge":{"max_failures":4}}`, withState(`{"judge_failures":3}`, func(*fixture) {}), sdk.DecisionAsk, "", State{0, 3}, ""},
		{"test mode, agents continue", ``, withState(`{"stops":1}`, withTestMode("continue")), sdk.DecisionContinue, "0 of 2 agents in a row asked to stop", State{0, 0}, ""},
		{"test mode, agents begin to stop", ``, withTestMode("stop"), sdk.DecisionContinue, "1 of 2 agents in a row asked to stop", State{1, 0}, ""},
		{"test mode, agents agree", ``, withState(`{"stops":1}`, withTestMode("stop")), sdk.DecisionStop, "2 agents in a row asked to stop", State{2, 0}, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			b := newFixture(t)
			b.req.Config = json.RawMessage(tt.config)
			tt.change(b)
			d := b.decide(t)
			var state State
			if err := json.Unmarshal(d.State, &state); err != nil {
				t.Fatal(err)
			}
			if d.Action != tt.action || d.Reason != tt.reason || state != tt.state || string(d.Record) != tt.record {
				t.Errorf("%s %q, state %+v, record %s", d.Action, d.Reason, state, d.Record)
			}
		})
	}
}

func withAnswer(round int, output, failed string) func(*fixture) {
	return func(b *fixture) { b.req.Round, b.req.Answer = round, &sdk.Answer{Output: output, Error: failed} }
}

func withState(state string, change func(*fixture)) func(*fixture) {
	return func(b *fixture) {
		b.req.State = json.RawMessage(state)
		change(b)
	}
}

func withTestMode(hint string) func(*fixture) {
	return func(b *fixture) { b.env[envTestMode], b.req.Hint = "1", hint }
}

// TestStage decides as the kernel does: each decision has its questions and gets the state of the previous decision.
func TestStage(t *testing.T) {
	type round struct {
		Iteration int
		Calls     int
		Action    sdk.DecisionAction
		Reason    string
	}
	tests := []struct {
		name    string
		config  string
		replies []sdk.Answer // the last answer repeats
		want    []round
	}{
		{"disagrees twice", `{"min_iterations":2}`, []sdk.Answer{{Output: continueReply}, {Output: continueReply}, {Output: stopReply}}, []round{
			{1, 0, sdk.DecisionContinue, "min_iterations is 2"},
			{2, 1, sdk.DecisionContinue, "more to do"},
			{3, 1, sdk.DecisionContinue, "more to do"},
			{4, 1, sdk.DecisionContinue, "stop suggested but not confirmed (1/2): flat"},
			{5, 1, sdk.DecisionStop, "flat"},
		}},
		{"a failure between two stops", ``, []sdk.Answer{{Output: stopReply}, {Error: "x"}, {Error: "x"}, {Output: stopReply}}, []round{
			{1, 1, sdk.DecisionContinue, "stop suggested but not confirmed (1/2): flat"}, {2, 2, sdk.DecisionContinue, "invoke_failed"}, {3, 1, sdk.DecisionStop, "flat"},
		}},
		{"the provider is down", `{"min_iterations":2}`, []sdk.Answer{{Error: "exit 3", Output: "boom"}}, []round{
			{1, 0, sdk.DecisionContinue, "min_iterations is 2"},
			{2, 2, sdk.DecisionContinue, "invoke_failed"},
			{3, 2, sdk.DecisionContinue, "invoke_failed"},
			{4, 2, sdk.DecisionContinue, "judge_unreliable"},
			{5, 0, sdk.DecisionContinue, "judge_unreliable"},
			{6, 0, sdk.DecisionContinue, "judge_unreliable"},
		}},
		{"prose", ``, []sdk.Answer{{Output: "I think you should stop."}}, []round{
			{1, 1, sdk.DecisionContinue, "invalid_json"},
			{2, 1, sdk.DecisionContinue, "invalid_json"},
			{3, 1, sdk.DecisionContinue, "judge_unreliable"},
			{4, 0, sdk.DecisionContinue, "judge_unreliable"},
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			b := newFixture(t)
			b.req.Config = json.RawMessage(tt.config)
			replies := tt.replies
			for i, want := range tt.want {
				b.req.Iteration, b.req.Round, b.req.Answer = i+1, 0, nil
				d := b.decide(t)
				for d.Action == sdk.DecisionAsk {
					answer := replies[0]
					replies = replies[min(1, len(replies)-1):]
					b.req.Round, b.req.Answer, b.req.State = b.req.Round+1, &answer, d.State
					d = b.decide(t)
				}
				b.req.State = d.State
				if diff := cmp.Diff(want, round{b.req.Iteration, b.req.Round, d.Action, d.Reason}); diff != "" {
					t.Errorf("(-want +got)\n%s", diff)
				}
			}
		})
	}
}

func TestJudgeError(t *testing.T) {
	tests := []struct {
		name   string
		state  string
		change func(*fixture)
		want   string
	}{
		{"third failure", `{"judge_failures":2}`, withAnswer(2, "", "boom"), "the judge (provider claude) failed 3 times in a row, last: invoke_failed"},
		{"asked again", `{"judge_failures":3}`, func(*fixture) {}, "the judge (provider claude) failed 3 times in a row, last: judge_unreliable"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			b := newFixture(t)
			b.req.Config = json.RawMessage(`{"on_judge_failure":"fail"}`)
			withState(tt.state, tt.change)(b)
			_, err := b.Decide(t.Context(), b.req)
			var got *failure.Error
			if !errors.As(err, &got) || got.Kind != failure.JudgeError || got.Message != tt.want || got.Hint == "" {
				t.Errorf("got %#v", err)
			}
		})
	}
}

func TestProviderAndModel(t *testing.T) {
	type choice struct{ Provider, Model string }
	tests := []struct {
		name   string
		config string
		env    map[string]string
		want   choice
	}{
		{"by default", ``, nil, choice{"claude", "haiku"}},
		{"configured", `{"judge":{"provider":"codex","model":"mini"}}`, nil, choice{"codex", "mini"}},
		{"another provider has its own default", `{"judge":{"provider":"codex"}}`, nil, choice{"codex", ""}},
		{"another model", `{"judge":{"model":"opus"}}`, nil, choice{"claude", "opus"}},
		{"the environment overrides", `{"judge":{"provider":"a","model":"b"}}`, map[string]string{envProvider: "codex", envModel: "m"}, choice{"codex", "m"}},
		{"a provider from the environment", ``, map[string]string{envProvider: "codex"}, choice{"codex", ""}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			b := newFixture(t)
			b.req.Config = json.RawMessage(tt.config)
			for name, value := range tt.env {
				b.env[name] = value
			}
			q := b.decide(t).Question
			if diff := cmp.Diff(choice{tt.want.Provider, tt.want.Model}, choice{q.Provider, q.Model}); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

func TestUnusableConfig(t *testing.T) {
	tests := []struct{ config, want string }{
		{`{`, `termination: unexpected end of JSON input`},
		{`[]`, `termination: json: cannot unmarshal array into Go value of type judge.Config`},
		{
			`{"min_iterations":-1,"consensus":0,"on_judge_failure":"cry","judge":{"attempts":5,"max_failures":0}}`,
			`termination: min_iterations is -1, want at least 0; consensus is 0, want at least 1; judge.attempts is 5, want at most 4; ` +
				`judge.max_failures is 0, want at least 1; on_judge_failure is "cry", want continue or fail`,
		},
		{`{"consensus":"two"}`, `termination: "two" is not a whole number`},
		{`{"judge":{"model":7}}`, `termination: judge.model has the wrong type: got number`},
		{`{"judge":"claude"}`, `termination: judge has the wrong type: got string`},
	}
	for _, tt := range tests {
		b := newFixture(t)
		b.req.Config = json.RawMessage(tt.config)
		_, err := b.Decide(t.Context(), b.req)
		validation := b.Validate(t.Context(), sdk.ValidateRequest{Config: b.req.Config})
		for _, err := range []error{err, validation} {
			if err == nil || err.Error() != tt.want || failure.KindOf(err) != failure.ConfigInvalid {
				t.Errorf("%s: got %v, want %s", tt.config, err, tt.want)
			}
		}
	}
}

func TestForeignState(t *testing.T) {
	b := newFixture(t)
	b.req.State = json.RawMessage(`[]`)
	if _, err := b.Decide(t.Context(), b.req); failure.KindOf(err) != failure.StrategyFailed || !strings.Contains(err.Error(), "state") {
		t.Errorf("got %v", err)
	}
}

package judge

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/plugintest"
)

func TestConforms(t *testing.T) {
	prompt := filepath.Join(t.TempDir(), "judge.md")
	if err := os.WriteFile(prompt, []byte("Is ${STAGE_NAME} done?"), 0o644); err != nil {
		t.Fatal(err)
	}
	config, err := json.Marshal(map[string]any{"type": "judgment", "min_iterations": 2, "judge": map[string]any{"prompt": prompt}})
	if err != nil {
		t.Fatal(err)
	}
	answer := func(round int, text, failed string) sdk.DecideRequest {
		return sdk.DecideRequest{Iteration: 4, Round: round, Answer: &sdk.Answer{Output: text, Error: failed}}
	}
	confirmed := answer(1, `{"stop":true}`, "")
	confirmed.State = json.RawMessage(`{"stops":1}`)
	plugintest.Termination(t, plugintest.TerminationConfig{
		New:    func(testing.TB) sdk.Termination { return &Strategy{getenv: func(string) string { return "" }} },
		Config: config,
		Cases: []plugintest.DecideCase{
			{Name: "too early", Request: sdk.DecideRequest{Iteration: 1}, Want: sdk.DecisionContinue},
			{Name: "asks", Request: sdk.DecideRequest{Iteration: 2}, Want: sdk.DecisionAsk},
			{Name: "asks again", Request: answer(1, "", "down"), Want: sdk.DecisionAsk},
			{Name: "fails", Request: answer(2, "", "down"), Want: sdk.DecisionContinue},
			{Name: "unconfirmed", Request: answer(1, `{"stop":true}`, ""), Want: sdk.DecisionContinue},
			{Name: "confirmed", Request: confirmed, Want: sdk.DecisionStop},
			{Name: "an agent's error", Request: sdk.DecideRequest{Iteration: 1, Hint: "error"}, Want: sdk.DecisionError},
		},
		Refused: []json.RawMessage{json.RawMessage(`{"consensus":0}`), json.RawMessage(`{"judge":{"prompt":"/nowhere/judge.md"}}`)},
	})
}

// The schema is written by hand, so it must declare the keys that the structs read.
func TestSchemaDeclaresAllKeys(t *testing.T) {
	plugintest.SchemaKeys(t, schema, Config{}, "type")
	var root struct{ Properties map[string]json.RawMessage }
	if err := json.Unmarshal(schema, &root); err != nil {
		t.Fatal(err)
	}
	plugintest.SchemaKeys(t, root.Properties["judge"], Judge{})
}

// FuzzSettings decodes any termination block. An accepted block has valid counts and a provider.
func FuzzSettings(f *testing.F) {
	for _, seed := range []string{
		"", "{}", `{"type":"judgment","max":3,"min_iterations":"2","consensus":1,"criteria":{"a":[1]}}`, `{"consensus":"+3"}`, `{"consensus":1.0}`,
		`{"judge":{"provider":"mock","attempts":4,"max_failures":null},"on_judge_failure":"fail"}`, `{"judge":{"attempts":5}}`, `{"consensus":"\"3"}`, "[]", "null", `{"Consensus":0}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		s := &Strategy{getenv: func(string) string { return "" }}
		c, err := s.readSettings(raw)
		if err != nil {
			if failure.KindOf(err) != failure.ConfigInvalid || !strings.HasPrefix(err.Error(), "termination: ") {
				t.Errorf("kind %q of %v", failure.KindOf(err), err)
			}
			return
		}
		if c.MinIterations < 0 || c.Consensus < 1 || c.Judge.Attempts < 1 || c.Judge.Attempts > sdk.MaxQuestionRounds || c.Judge.MaxFailures < 1 || c.Judge.Provider == "" {
			t.Errorf("accepted: %+v", c.Config)
		}
	})
}

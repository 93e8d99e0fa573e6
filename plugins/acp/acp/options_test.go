package acp

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
)

// These are the forms in which agents offer settings, and turns for a script.
const (
	optionSession = `"session":{"configOptions":[
		{"id":"mode","category":"mode","type":"select","currentValue":"default","options":[{"value":"default"},{"value":"plan"}]},
		{"id":"llm","category":"model","type":"select","currentValue":"small","options":[{"group":"g","name":"G","options":[{"value":"small"},{"value":"large"}]}]},
		{"id":"fast","type":"boolean","currentValue":false},
		{"id":"new","type":"slider","currentValue":3}]}`
	modeSession = `"session":{"modes":{"currentModeId":"default","availableModes":[{"id":"default","name":"D"},{"id":"plan","name":"P"}]}}`
	turns       = `,"turns":[{"steps":[{"say":"ok"}]}]`
)

func TestConfigure(t *testing.T) {
	option := func(id string, value any) map[string]any {
		m := map[string]any{"configId": id, "value": value}
		if _, ok := value.(bool); ok {
			m["type"] = "boolean"
		}
		return m
	}
	for _, tt := range []struct {
		name, script, config, model string
		want                        map[string][]map[string]any // params by method, without the session
		ran                         string
	}{
		{
			"options", `{` + optionSession + turns + `}`, `,"mode":"plan","config_options":{"fast":true}`, "large",
			map[string][]map[string]any{"session/set_config_option": {option("llm", "large"), option("mode", "plan"), option("fast", true)}},
			"large",
		},
		{"unchanged", `{` + optionSession + turns + `}`, `,"mode":"default","config_options":{"fast":false}`, "small", nil, "small"},
		{"modes", `{` + modeSession + turns + `}`, `,"mode":"plan"`, "", map[string][]map[string]any{"session/set_mode": {{"modeId": "plan"}}}, ""},
		{"nothing requested", `{` + optionSession + turns + `}`, ``, "", nil, "small"},
		{"a model by the command line", `{` + turns[1:] + `}`, `,"agent":"gemini"`, "pro", nil, "pro"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var log string
			result, _, err := runAttempt(t, tt.script, tt.config, func(r *sdk.ExecuteRequest) { log, r.Model = enableLog(t, r), tt.model })
			if err != nil || result.Outcome != sdk.OutcomeSucceeded || result.Model != tt.ran {
				t.Fatalf("result %+v, error %v", result, err)
			}
			for _, method := range []string{"session/set_config_option", "session/set_mode"} {
				got := sentParams(t, log, method)
				for _, params := range got {
					delete(params, "sessionId")
				}
				if diff := cmp.Diff(tt.want[method], got); diff != "" {
					t.Errorf("%s (-want +got):\n%s", method, diff)
				}
			}
		})
	}
}

func TestConfigureRefused(t *testing.T) {
	no := func(method string) string {
		return `,"errors":{"` + method + `":{"code":-32602,"message":"Invalid params","data":"unknown"}}`
	}
	for _, tt := range []struct{ name, script, config, model, message, hint string }{
		{"a mode", `{` + optionSession + no("session/set_config_option") + `}`, `,"mode":"wild"`, "", `does not take mode "wild": Invalid params: unknown`, "it offers default, plan"},
		{"a model", `{` + optionSession + no("session/set_config_option") + `}`, ``, "huge", `does not take llm "huge"`, "it offers small, large"},
		{"a mode of an old agent", `{` + modeSession + no("session/set_mode") + `}`, `,"mode":"wild"`, "", `does not take mode "wild"`, "it offers default, plan"},
		{"an option", `{` + no("session/set_config_option")[1:] + `}`, `,"config_options":{"x":"y"}`, "", `does not take x "y"`, "see the agent's documentation"},
		{"no modes", `{}`, `,"mode":"wild"`, "", "offers no modes", "leave mode out"},
		{"no models", `{}`, ``, "huge", "offers no choice of a model", "name no model"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			result, _, err := runAttempt(t, tt.script, tt.config, func(r *sdk.ExecuteRequest) { r.Model = tt.model })
			if err != nil || result.Outcome != sdk.OutcomeFailed || result.Error.Retryable {
				t.Fatalf("result %+v, error %v", result, err)
			}
			if e := result.Error; !strings.Contains(e.Message, tt.message) || !strings.HasPrefix(e.Hint, tt.hint) {
				t.Errorf("%q, hint %q; want %q, hint %q", e.Message, e.Hint, tt.message, tt.hint)
			}
		})
	}
}

package agent

import (
	"encoding/json"
	"strings"
	"testing"

	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/plugintest"
	"github.com/dodo-digital/agent-pipelines/plugins/agent/internal/loop"
	"github.com/dodo-digital/agent-pipelines/plugins/agent/internal/tool"
)

func TestValidate(t *testing.T) { // K4, U029
	const key = "sk-made-up-0123456789"
	provider := NewProvider(func() []string { return []string{"MY_KEY=" + key, "TEAM=blue", "EMPTY="} })
	tests := []struct {
		name, config, model string
		mode                sdk.Mode
		message, hint       string // parts of the error; "" for a valid configuration
	}{
		{name: "Ollama on this machine", config: ``, model: "qwen"},
		{name: "a model of its own", config: `{"model":"qwen"}`},
		{name: "everything", model: "m", config: `{"api":"anthropic","base_url":"https://models.example.com","api_key_env":"MY_KEY","headers":{"X-Team":"TEAM"},
			"max_turns":5,"max_output_tokens":100,"effort":"low","prices":{"m":{"input":1,"output":2}},"local_networks":["10.0.0.0/8"],"tool_retries":0,"system":"Be kind."}`},
		{name: "no model", config: `{}`, message: "needs a model", hint: "name it with --model, "},
		{name: "a mistyped key", model: "m", config: `{"base_uri":"x"}`, message: `did you mean "base_url"?`},
		{name: "another api", model: "m", config: `{"api":"gemini"}`, message: `unknown api "gemini"`, hint: "openai"},
		{name: "a key in the file", model: "m", config: `{"api_key":"` + key + `"}`, message: `unknown key "api_key"`},
		{name: "a key in place of its name", model: "m", config: `{"api_key_env":"` + key + `"}`, message: "not the name of an environment variable", hint: "renew it"},
		{name: "a header's value", model: "m", config: `{"headers":{"Authorization":"Bearer ` + key + `"}}`, message: "headers.Authorization", hint: "variable"},
		{name: "a variable that is not set", model: "m", config: `{"api_key_env":"NOT_SET"}`, message: "NOT_SET is not set", hint: "export NOT_SET with its value"},
		{name: "one that is empty", model: "m", config: `{"headers":{"X":"EMPTY"}}`, message: "EMPTY is not set"},
		{name: "OpenAI without its key", model: "m", config: `{"base_url":"https://api.openai.com/v1"}`, message: "OPENAI_API_KEY is not set"},
		{name: "Anthropic without its key", model: "m", config: `{"api":"anthropic"}`, message: "ANTHROPIC_API_KEY is not set"},
		{name: "no address", model: "m", config: `{"base_url":"localhost:1"}`, message: "not the address of a service", hint: "http://localhost:11434/v1"},
		{name: "no turns", model: "m", config: `{"max_turns":0}`, message: "max_turns is 0"},
		{name: "too many retries", model: "m", config: `{"tool_retries":11}`, message: "tool_retries is 11"},
		{name: "half a price", model: "m", config: `{"prices":{"m":{"input":1}}}`, message: "prices.m needs input and output"},
		{name: "a negative price", model: "m", config: `{"prices":{"m":{"input":1,"output":-1}}}`, message: "negative"},
		{name: "no network", model: "m", config: `{"local_networks":["10.0.0.0"]}`, message: "is not a network", hint: "10.1.0.0/16"},
		{name: "every network", model: "m", config: `{"local_networks":["0.0.0.0/0"]}`, message: "contains every address"},
		{name: "local, this machine", model: "m", mode: sdk.ModeLocalOnly},
		{name: "local, a socket", model: "m", mode: sdk.ModeAirgapped, config: `{"base_url":"unix:///run/m.sock"}`},
		{name: "local, the network's", model: "m", mode: sdk.ModeAirgapped, config: `{"base_url":"http://10.1.2.3/v1","local_networks":["10.0.0.0/8"]}`},
		{name: "local, elsewhere", model: "m", mode: sdk.ModeLocalOnly, config: `{"base_url":"https://models.example.com/v1"}`, message: "mode local-only: the model service models.example.com is not on this machine", hint: "local_networks"},
		{name: "airgapped, elsewhere", model: "m", mode: sdk.ModeAirgapped, config: `{"api":"anthropic"}`, message: "mode airgapped", hint: "policy.mode open"},
		{name: "burst, elsewhere", model: "m", mode: sdk.ModeBurst, config: `{"base_url":"https://models.example.com/v1"}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			err := provider.Validate(t.Context(), sdk.ValidateRequest{Model: tt.model, Config: json.RawMessage(tt.config), Mode: tt.mode})
			if tt.message == "" {
				if err != nil {
					t.Errorf("refused: %v", err)
				}
				return
			}
			f := failure.From(err)
			if f == nil || f.Kind != failure.ConfigInvalid || !strings.Contains(f.Message, tt.message) || !strings.Contains(f.Hint, tt.hint) {
				t.Errorf("got %#v, want %q, hint %q", f, tt.message, tt.hint)
			} else if strings.Contains(f.Message+f.Hint, key) {
				t.Error("the refusal shows the key")
			}
		})
	}
}

// TestModes checks the effects of a mode on an attempt.
func TestModes(t *testing.T) { // K4
	work := func(mode sdk.Mode) (w loop.Attempt, o tool.Options) {
		c, err := readConfig(nil)
		if err != nil {
			t.Fatal(err)
		}
		req := sdk.ExecuteRequest{Mode: mode, IdleTimeout: 10}
		return c.newAttempt(req, nil, nil, "m"), c.toolOptions(req, nil, nil, nil)
	}
	open, tools := work(sdk.ModeOpen)
	if open.Retries != 3 || open.IdleTimeout != 10 || tools.Offline || tools.Timeout != 0 || len(tools.Retry) != 3 || open.MaxTurns != 100 {
		t.Errorf("open: %+v, %+v", open, tools)
	}
	if burst, tools := work(sdk.ModeBurst); burst.Retries != 5 || burst.IdleTimeout != 20 || tools.Offline || tools.Timeout != 2*tool.DefaultTimeout {
		t.Errorf("burst: %+v, %+v", burst, tools)
	}
	if _, tools := work(sdk.ModeLocalOnly); tools.Offline {
		t.Error("local-only commands are offline")
	}
	if _, tools := work(sdk.ModeAirgapped); !tools.Offline {
		t.Error("airgapped commands are not offline")
	}
}

// The schema is written by hand, so it must declare the keys that the struct reads.
func TestSchemaKnowsTheConfig(t *testing.T) { plugintest.SchemaKeys(t, configSchema, Config{}) }

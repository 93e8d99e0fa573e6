package codex

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/plugintest"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/plugintest/clitest"
)

func TestChoose(t *testing.T) {
	tests := []struct {
		name   string
		model  string
		config Config
		env    []string
		want   modelChoice
		kind   failure.Kind
	}{
		{"default", "", Config{}, nil, modelChoice{"gpt-5.2-codex", "high"}, ""},
		{"model", "gpt-5-codex-mini", Config{}, nil, modelChoice{"gpt-5-codex-mini", "high"}, ""},
		{"model and effort", "gpt-5.2-codex:xhigh", Config{ReasoningEffort: "low"}, []string{"CODEX_REASONING_EFFORT=medium"}, modelChoice{"gpt-5.2-codex", "xhigh"}, ""},
		{"effort alone", ":minimal", Config{}, nil, modelChoice{"gpt-5.2-codex", "minimal"}, ""},
		{"effort from the configuration", "gpt-5.5", Config{ReasoningEffort: "low"}, []string{"CODEX_REASONING_EFFORT=medium"}, modelChoice{"gpt-5.5", "low"}, ""},
		{"effort from the environment", "gpt-5.5", Config{}, []string{"CODEX_REASONING_EFFORT=medium"}, modelChoice{"gpt-5.5", "medium"}, ""},
		{"model from the environment", "", Config{}, []string{"CODEX_MODEL=gpt-5.1-codex-max:low"}, modelChoice{"gpt-5.1-codex-max", "low"}, ""},
		{"user's own model", "mine", Config{Models: []string{"mine"}}, nil, modelChoice{"mine", "high"}, ""},
		{"unknown model", "mine", Config{}, nil, modelChoice{}, failure.ConfigInvalid},
		{"unknown effort", "gpt-5.5:most", Config{}, nil, modelChoice{}, failure.ConfigInvalid},
		{"second colon", "gpt-5.5:low:high", Config{}, nil, modelChoice{}, failure.ConfigInvalid},
		{"unknown effort in the environment", "", Config{}, []string{"CODEX_REASONING_EFFORT=most"}, modelChoice{}, failure.ConfigInvalid},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := chooseModel(tt.model, tt.config, tt.env)
			if got != tt.want || failure.KindOf(err) != tt.kind {
				t.Errorf("choose = %+v, %v; want %+v, kind %q", got, err, tt.want, tt.kind)
			}
		})
	}
}

func TestValidate(t *testing.T) {
	tests := []struct {
		name   string
		model  string
		config string
		want   failure.Kind
	}{
		{"empty", "", ``, ""},
		{"whole", "mine:low", `{"models": ["mine"], "reasoning_effort": "max", "args": ["-C", "x"], "watchdog": false, "prices": {"mine": {"input": 1, "output": 2}, "gpt-5.5": null}}`, ""},
		{"no JSON", "", `{`, failure.ConfigInvalid},
		{"unknown key", "", `{"model": "x"}`, failure.ConfigInvalid},
		{"unknown model", "opus", ``, failure.ConfigInvalid},
		{"unknown effort", "", `{"reasoning_effort": "most"}`, failure.ConfigInvalid},
		{"unknown key in a price", "", `{"prices": {"mine": {"input": 1, "output": 2, "cached": 1}}}`, failure.ConfigInvalid},
		{"negative price", "", `{"prices": {"mine": {"input": 1, "output": 2, "cached_input": -1}}}`, failure.ConfigInvalid},
		{"watchdog is no switch", "", `{"watchdog": "off"}`, failure.ConfigInvalid},
		{"relative command", "", `{"command": "bin/codex"}`, failure.ConfigInvalid},
		{"not installed", "", `{"command": "codex-missing"}`, failure.ProviderMissing},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			err := fake(t).Validate(t.Context(), sdk.ValidateRequest{Model: tt.model, Config: json.RawMessage(tt.config)})
			if got := failure.KindOf(err); got != tt.want {
				t.Errorf("kind = %q (%v), want %q", got, err, tt.want)
			}
		})
	}
}

// TestSchemaMatchesConfig: the schema and the struct name the same keys and efforts.
func TestSchemaMatchesConfig(t *testing.T) {
	words := plugintest.SchemaKeys(t, configSchema, Config{})
	if diff := cmp.Diff(efforts, words["reasoning_effort"]); diff != "" {
		t.Errorf("efforts (-code +schema):\n%s", diff)
	}
}

// TestDiagnose tests the findings that doctor shows.
func TestDiagnose(t *testing.T) {
	clitest.Diagnose{
		Command: "codex", Key: "OPENAI_API_KEY", Subject: "version", Measured: measured.Version,
		New: func(environ func() []string) sdk.Diagnoser { return New(environ) },
	}.Run(t)
}

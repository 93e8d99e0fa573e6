package claude

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/cliagent"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/plugintest"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/plugintest/clitest"
)

func TestModelName(t *testing.T) {
	tests := map[string]string{
		"": "opus", "opus": "opus", "claude-opus": "opus", "opus-4": "opus", "opus-4.5": "opus",
		"sonnet": "sonnet", "claude-sonnet": "sonnet", "sonnet-4": "sonnet",
		"haiku": "haiku", "claude-haiku": "haiku",
		"claude-opus-4-1": "claude-opus-4-1", "sonnet[1m]": "sonnet[1m]", "my-model": "my-model",
	}
	for model, want := range tests {
		if got := modelName(model); got != want {
			t.Errorf("modelName(%q) = %q, want %q", model, got, want)
		}
	}
}

func TestArguments(t *testing.T) {
	const usual = "--print --dangerously-skip-permissions --model opus --output-format stream-json --verbose"
	tests := []struct {
		name   string
		config string
		model  string
		budget *sdk.Budget
		want   string
	}{
		{"default", ``, "", nil, usual},
		{
			"everything",
			`{"args": ["--add-dir", "x"], "max_turns": 3, "max_budget_usd": 0.25, "append_system_prompt": "be brief", "permission_mode": "plan"}`,
			"claude-haiku", nil,
			"--print --permission-mode plan --model haiku --output-format stream-json --verbose " +
				"--max-turns 3 --max-budget-usd 0.25 --append-system-prompt be brief --add-dir x",
		},
		{"the run's budget", ``, "", &sdk.Budget{MaxUSD: new(0.125)}, usual + " --max-budget-usd 0.125"},
		{"the run's budget is smaller", `{"max_budget_usd": 2}`, "", &sdk.Budget{MaxUSD: new(0.5), MaxTokens: new(int64(9))}, usual + " --max-budget-usd 0.5"},
		{"the run's budget is larger", `{"max_budget_usd": 0.25}`, "", &sdk.Budget{MaxUSD: new(4.0)}, usual + " --max-budget-usd 0.25"},
		{"a budget in tokens alone", ``, "", &sdk.Budget{MaxTokens: new(int64(900))}, usual},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			cfg, err := readConfig(json.RawMessage(tt.config))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, strings.Join(arguments(cfg, sdk.ExecuteRequest{Model: tt.model, Budget: tt.budget}), " ")); diff != "" {
				t.Errorf("arguments (-want +got):\n%s", diff)
			}
		})
	}
}

func TestEnvironment(t *testing.T) {
	tests := []struct {
		name    string
		base    []string
		added   map[string]string
		config  Config
		retries string
		sandbox string
	}{
		{"default", nil, nil, Config{}, "1", ""},
		{"user's own retries", []string{"CLAUDE_CODE_MAX_RETRIES=5"}, nil, Config{}, "5", ""},
		{"the attempt's retries", []string{"CLAUDE_CODE_MAX_RETRIES=5"}, map[string]string{"CLAUDE_CODE_MAX_RETRIES": "0"}, Config{}, "0", ""},
		{"sandbox", nil, nil, Config{IsSandbox: true}, "1", "1"},
		{"user's own sandbox", []string{"IS_SANDBOX=1"}, nil, Config{}, "1", "1"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			env := New(func() []string { return tt.base }).environment(tt.added, tt.config)
			if r, s := cliagent.Getenv(env, retriesVariable), cliagent.Getenv(env, "IS_SANDBOX"); r != tt.retries || s != tt.sandbox {
				t.Errorf("retries %q, sandbox %q; want %q, %q", r, s, tt.retries, tt.sandbox)
			}
		})
	}
}

func TestValidate(t *testing.T) {
	tests := []struct {
		name   string
		config string
		want   failure.Kind
	}{
		{"empty", ``, ""},
		{"whole", `{"command": "claude", "max_turns": 1, "permission_mode": "acceptEdits"}`, ""},
		{"no JSON", `{`, failure.ConfigInvalid},
		{"unknown key", `{"max_turn": 1}`, failure.ConfigInvalid},
		{"wrong type", `{"max_turns": "one"}`, failure.ConfigInvalid},
		{"negative turns", `{"max_turns": -1}`, failure.ConfigInvalid},
		{"negative budget", `{"max_budget_usd": -0.5}`, failure.ConfigInvalid},
		{"unknown mode", `{"permission_mode": "yolo"}`, failure.ConfigInvalid},
		{"relative command", `{"command": "./claude"}`, failure.ConfigInvalid},
		{"not installed", `{"command": "claude-missing"}`, failure.ProviderMissing},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			err := fake(t).Validate(t.Context(), sdk.ValidateRequest{Config: json.RawMessage(tt.config)})
			if got := failure.KindOf(err); got != tt.want {
				t.Errorf("kind = %q (%v), want %q", got, err, tt.want)
			}
		})
	}
}

// TestSchemaMatchesConfig: the schema and the struct name the same keys and modes.
func TestSchemaMatchesConfig(t *testing.T) {
	words := plugintest.SchemaKeys(t, configSchema, Config{})
	if diff := cmp.Diff(permissionModes, words["permission_mode"]); diff != "" {
		t.Errorf("modes (-struct +schema):\n%s", diff)
	}
}

// TestDiagnose tests the findings that doctor shows.
func TestDiagnose(t *testing.T) {
	clitest.Diagnose{
		Command: "claude", Key: "ANTHROPIC_API_KEY", Subject: "version", Measured: measured.Version,
		New: func(environ func() []string) sdk.Diagnoser { return New(environ) },
	}.Run(t)
}

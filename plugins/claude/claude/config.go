package claude

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/dodo-digital/agent-pipelines/plugin-sdk/config"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
)

// Config is the provider's configuration; config.schema.json says the same to others.
type Config struct {
	// Command is the executable's name, searched in PATH, or absolute path. Default "claude".
	Command string `json:"command"`
	// Args are further arguments, placed after ours.
	Args []string `json:"args"`
	// MaxTurns ends the agent after so many replies of the model; 0 is no limit.
	MaxTurns int `json:"max_turns"`
	// MaxBudgetUSD ends the agent when its own count of the cost passes it; 0 is no limit.
	MaxBudgetUSD float64 `json:"max_budget_usd"`
	// AppendSystemPrompt is added to Claude Code's system prompt.
	AppendSystemPrompt string `json:"append_system_prompt"`
	// PermissionMode is Claude Code's. Default "bypassPermissions": nobody is there to be asked.
	PermissionMode string `json:"permission_mode"`
	// IsSandbox asserts that the process is contained, so that Claude Code, run by root, lets permissions
	// be bypassed. It contains nothing itself.
	IsSandbox bool `json:"is_sandbox"`
}

const bypass = "bypassPermissions"

// permissionModes are those of claude --help.
var permissionModes = []string{"acceptEdits", "auto", bypass, "default", "dontAsk", "manual", "plan"}

// readConfig reads and checks a configuration. Errors are of kind config_invalid.
func readConfig(raw json.RawMessage) (Config, error) {
	cfg := Config{Command: "claude", PermissionMode: bypass}
	if err := config.Decode(raw, &cfg); err != nil {
		return Config{}, err
	}
	switch {
	case cfg.MaxTurns < 0:
		return Config{}, failure.New(failure.ConfigInvalid, "config: max_turns is %d, less than 0", cfg.MaxTurns)
	case cfg.MaxBudgetUSD < 0:
		return Config{}, failure.New(failure.ConfigInvalid, "config: max_budget_usd is %g, less than 0", cfg.MaxBudgetUSD)
	case !slices.Contains(permissionModes, cfg.PermissionMode):
		return Config{}, failure.New(failure.ConfigInvalid, "config: unknown permission_mode %q", cfg.PermissionMode).
			WithHint("use one of %s", strings.Join(permissionModes, ", "))
	}
	return cfg, nil
}

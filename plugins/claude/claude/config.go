package claude

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/dodo-digital/agent-pipelines/plugin-sdk/config"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
)

// Config is the provider's configuration. config.schema.json describes the same keys.
type Config struct {
	// Command is the executable's name, searched in PATH, or its absolute path. Default "claude".
	Command string `json:"command"`
	// Args are further arguments, placed after the provider's own arguments.
	Args []string `json:"args"`
	// MaxTurns limits the replies of the model; 0 is no limit.
	MaxTurns int `json:"max_turns"`
	// MaxBudgetUSD limits the cost in US dollars, as Claude Code counts it; 0 is no limit.
	MaxBudgetUSD float64 `json:"max_budget_usd"`
	// AppendSystemPrompt is appended to Claude Code's system prompt.
	AppendSystemPrompt string `json:"append_system_prompt"`
	// PermissionMode is Claude Code's permission mode. Default "bypassPermissions": no user is present to answer.
	PermissionMode string `json:"permission_mode"`
	// IsSandbox asserts that the process is confined, so that Claude Code as root allows bypassed permissions. It does not
	// confine the process.
	IsSandbox bool `json:"is_sandbox"`
}

const bypassPermissions = "bypassPermissions"

// permissionModes are the permission modes that claude --help lists.
var permissionModes = []string{"acceptEdits", "auto", bypassPermissions, "default", "dontAsk", "manual", "plan"}

// readConfig decodes and checks a configuration. Errors are of kind config_invalid.
func readConfig(raw json.RawMessage) (Config, error) {
	cfg := Config{Command: "claude", PermissionMode: bypassPermissions}
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

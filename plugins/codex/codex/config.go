package codex

import (
	"encoding/json"

	"github.com/dodo-digital/agent-pipelines/plugin-sdk/config"
)

// Config is the provider's configuration; config.schema.json says the same to others.
type Config struct {
	// Command is the executable's name, searched in PATH, or absolute path. Default "codex".
	Command string `json:"command"`
	// Args are further arguments of codex exec, placed after ours.
	Args []string `json:"args"`
	// Models are names to be taken besides those known to work.
	Models []string `json:"models"`
	// ReasoningEffort is used where the model does not name one ("gpt-5.2-codex:low"). Default: the
	// variable CODEX_REASONING_EFFORT, else "high".
	ReasoningEffort string `json:"reasoning_effort"`
	// Watchdog ends a Codex that stays after its work is done. Default true; CODEX_WATCHDOG=false
	// switches it off too.
	Watchdog bool `json:"watchdog"`
	// Prices are added to the list prices by model, and replace them; null makes one unknown.
	Prices map[string]*Price `json:"prices"`
}

// readConfig reads and checks a configuration. Errors are of kind config_invalid.
func readConfig(raw json.RawMessage) (Config, error) {
	cfg := Config{Command: "codex", Watchdog: true}
	if err := config.Decode(raw, &cfg); err != nil {
		return Config{}, err
	}
	if err := checkPrices(cfg.Prices); err != nil {
		return Config{}, err
	}
	return cfg, nil
}

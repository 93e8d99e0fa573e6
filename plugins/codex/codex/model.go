package codex

import (
	"cmp"
	"slices"
	"strings"

	"github.com/dodo-digital/agent-pipelines/plugin-sdk/cliagent"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
)

const (
	defaultModel  = "gpt-5.2-codex"
	defaultEffort = "high"
)

// knownModels are the six of the Bash engine and those that codex debug models of 0.169.0 lists.
// Codex passes any name on unchecked, so that a typing error would only show in the service's answer,
// or in none (REQUIREMENTS U272, K39).
var knownModels = []string{
	"gpt-5.2-codex", "gpt-5.1-codex-max", "gpt-5.1-codex-mini", "gpt-5.1-codex", "gpt-5-codex", "gpt-5-codex-mini",
	"gpt-5.5", "gpt-5.6-sol", "gpt-5.6-terra", "gpt-5.6-luna",
	"gpt-6-astra", "gpt-6-sol", "gpt-6-luna", "gpt-6.1-sol", "gpt-6.1-terra",
}

// efforts are what Codex knows for one model or another; it does not check them either.
var efforts = []string{"minimal", "low", "medium", "high", "xhigh", "max", "ultra"}

// choice is a model with its reasoning effort.
type choice struct{ model, effort string }

// choose reads a model as a pipeline writes it, NAME or NAME:EFFORT. What is left out comes from the
// configuration, then from CODEX_MODEL and CODEX_REASONING_EFFORT in env, then from the defaults.
// Errors are of kind config_invalid.
func choose(model string, cfg Config, env []string) (choice, error) {
	model = cmp.Or(model, cliagent.Getenv(env, "CODEX_MODEL"))
	base, effort, _ := strings.Cut(model, ":")
	c := choice{
		model:  cmp.Or(base, defaultModel),
		effort: cmp.Or(effort, cfg.ReasoningEffort, cliagent.Getenv(env, "CODEX_REASONING_EFFORT"), defaultEffort),
	}
	if !slices.Contains(knownModels, c.model) && !slices.Contains(cfg.Models, c.model) {
		return choice{}, failure.New(failure.ConfigInvalid, "unknown codex model %q", c.model).
			WithHint("use one of %s; or add it to models in the configuration of provider codex", strings.Join(knownModels, ", "))
	}
	if !slices.Contains(efforts, c.effort) {
		return choice{}, failure.New(failure.ConfigInvalid, "unknown reasoning effort %q of codex", c.effort).
			WithHint("use one of %s", strings.Join(efforts, ", "))
	}
	return c, nil
}

package codex

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/dodo-digital/agent-pipelines/plugin-sdk/cliagent"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/nearest"
)

const (
	defaultModel  = "gpt-5.2-codex"
	defaultEffort = "high"
)

// knownModels are the six models of the Bash engine and the output of codex debug models, version 0.169.0. Codex does
// not check names: a misspelled name would fail only at the service, or not at all (REQUIREMENTS U272, K39).
var knownModels = []string{
	"gpt-5.2-codex", "gpt-5.1-codex-max", "gpt-5.1-codex-mini", "gpt-5.1-codex", "gpt-5-codex", "gpt-5-codex-mini",
	"gpt-5.5", "gpt-5.6-sol", "gpt-5.6-terra", "gpt-5.6-luna",
	"gpt-6-astra", "gpt-6-sol", "gpt-6-luna", "gpt-6.1-sol", "gpt-6.1-terra",
}

// efforts are the reasoning efforts of all models; Codex does not check them.
var efforts = []string{"minimal", "low", "medium", "high", "xhigh", "max", "ultra"}

// modelChoice is a model with its reasoning effort.
type modelChoice struct{ model, effort string }

// chooseModel parses a pipeline's model, NAME or NAME:EFFORT. A missing model comes from CODEX_MODEL in env, a missing
// effort from the configuration or CODEX_REASONING_EFFORT, else from the defaults. Errors are of kind config_invalid.
func chooseModel(model string, cfg Config, env []string) (modelChoice, error) {
	model = cmp.Or(model, cliagent.Getenv(env, "CODEX_MODEL"))
	base, effort, _ := strings.Cut(model, ":")
	c := modelChoice{
		model:  cmp.Or(base, defaultModel),
		effort: cmp.Or(effort, cfg.ReasoningEffort, cliagent.Getenv(env, "CODEX_REASONING_EFFORT"), defaultEffort),
	}
	if !slices.Contains(knownModels, c.model) && !slices.Contains(cfg.Models, c.model) {
		return modelChoice{}, unknownModel(c.model, cfg)
	}
	if !slices.Contains(efforts, c.effort) {
		return modelChoice{}, failure.New(failure.ConfigInvalid, "unknown reasoning effort %q of codex", c.effort).
			WithHint("use one of %s", strings.Join(efforts, ", "))
	}
	return c, nil
}

func unknownModel(model string, cfg Config) error {
	f := failure.New(failure.ConfigInvalid, "unknown codex model %q", model)
	advice := ""
	if near := nearest.Name(model, slices.Concat(knownModels, cfg.Models)); near != "" {
		advice = fmt.Sprintf("did you mean %s? ", near)
	}
	return f.WithHint("%suse one of %s; or allow it in ~/.config/agent-pipelines/config.yaml: providers: {codex: {config: {models: [%q]}}}",
		advice, strings.Join(knownModels, ", "), model)
}

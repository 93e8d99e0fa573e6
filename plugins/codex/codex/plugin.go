package codex

import (
	"context"
	_ "embed"
	"encoding/json"
	"maps"
	"os"
	"slices"

	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/cliagent"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/config"
)

const (
	name           = "codex"
	installCommand = "npm install -g @openai/codex"
)

//go:embed config.schema.json
var configSchema []byte

// Plugin returns the plugin agent-plugin-codex. The version is a semantic version without a leading v.
func Plugin(version string) sdk.Plugin {
	return sdk.Plugin{Name: name, Version: version, Providers: []sdk.Provider{New(os.Environ)}}
}

// Provider drives Codex. It is safe for concurrent use: each attempt is a process of its own, and
// Codex locks the state that its processes share.
type Provider struct {
	environ  func() []string
	versions cliagent.Versions
}

// New returns a provider. environ returns the base of the agents' environment, usually os.Environ; each method of the
// provider calls it at most once.
func New(environ func() []string) *Provider {
	return &Provider{environ: environ}
}

// Describe returns the provider's traits. It lists the known models; the configuration may add others.
func (p *Provider) Describe() sdk.Component {
	return sdk.Component{
		Name:         name,
		Aliases:      []string{"openai"},
		Summary:      "OpenAI Codex, driven through its command line",
		ConfigSchema: configSchema,
		Needs: &sdk.Needs{
			Network: true, Read: []string{"~/.local/bin"}, Write: []string{"~/.codex", "${CODEX_HOME}"},
			Environment: append(slices.Clone(login.Variables), "AZURE_OPENAI_API_KEY"),
		},
		Provider: &sdk.ProviderTraits{
			Models: slices.Clone(knownModels), DefaultModel: defaultModel, ModelChoice: sdk.ModelsConfigurable, Locality: sdk.LocalityRemote,
			ReasoningEffort: true, Efforts: slices.Clone(efforts), DefaultEffort: defaultEffort,
			ObservedTools: true, Usage: sdk.ReportsAlways, Cost: sdk.ReportsSome, SoftCancel: true,
		},
	}
}

// Validate refuses a configuration or a model that cannot work, and a command that is not installed.
func (p *Provider) Validate(_ context.Context, req sdk.ValidateRequest) error {
	cfg, err := readConfig(req.Config)
	if err != nil {
		return err
	}
	env := cliagent.Environ(p.environ(), nil)
	if _, err := chooseModel(req.Model, cfg, env); err != nil {
		return err
	}
	if _, err := readLimits(0, cfg, env); err != nil {
		return err
	}
	_, err = cliagent.Lookup(name, cfg.Command, installCommand, env)
	return err
}

// login describes the evidence of a login to Codex.
var login = cliagent.Login{
	Variables: []string{"OPENAI_API_KEY", "CODEX_API_KEY"},
	Files:     []string{"${CODEX_HOME}/auth.json", "~/.codex/auth.json"},
	Hint:      "log in: run codex login, or set OPENAI_API_KEY",
}

// measured is the version that the plugin was tested with; test/e2ereal pins it.
var measured = cliagent.TestedVersion{Version: "0.169.0", Update: "npm install -g @openai/codex"}

// Diagnose implements [sdk.Diagnoser].
func (p *Provider) Diagnose(ctx context.Context, req sdk.ValidateRequest) ([]sdk.Finding, error) {
	cfg, err := readConfig(req.Config)
	if err != nil {
		return nil, err
	}
	env := cliagent.Environ(p.environ(), nil)
	path, err := cliagent.Lookup(name, cfg.Command, installCommand, env)
	if err != nil {
		return nil, err
	}
	cmd := cliagent.Command{Name: name, Path: path, Env: env}
	return []sdk.Finding{p.versions.Diagnose(ctx, cmd, measured), login.Diagnose(env)}, nil
}

// Config is the provider's configuration. config.schema.json describes the same keys.
type Config struct {
	// Command is the executable's name, searched in PATH, or its absolute path. Default "codex".
	Command string `json:"command"`
	// Args are further arguments of codex exec, placed after the provider's own arguments.
	Args []string `json:"args"`
	// Models are allowed model names besides the known names.
	Models []string `json:"models"`
	// ReasoningEffort applies to models whose name has no effort, unlike "gpt-5.2-codex:low". Default: the variable
	// CODEX_REASONING_EFFORT, else "high".
	ReasoningEffort string `json:"reasoning_effort"`
	// Watchdog ends a Codex that stays after its work is done. Default true; CODEX_WATCHDOG=false disables it too.
	Watchdog bool `json:"watchdog"`
	// Prices add or replace list prices by model, in US dollars for a million tokens; null makes a price unknown.
	Prices map[string]*sdk.Price `json:"prices"`
}

// readConfig decodes and checks a configuration. Errors are of kind config_invalid.
func readConfig(raw json.RawMessage) (Config, error) {
	cfg := Config{Command: "codex", Watchdog: true}
	if err := config.Decode(raw, &cfg); err != nil {
		return Config{}, err
	}
	for _, model := range slices.Sorted(maps.Keys(cfg.Prices)) {
		if p := cfg.Prices[model]; p != nil {
			if err := p.Check(model); err != nil {
				return Config{}, err
			}
		}
	}
	return cfg, nil
}

package codex

import (
	"context"
	_ "embed"
	"os"
	"slices"

	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/cliagent"
)

const (
	name    = "codex"
	install = "npm install -g @openai/codex"
)

//go:embed config.schema.json
var configSchema []byte

// Plugin is the plugin agent-plugin-codex. The version is a semantic version without a leading v.
func Plugin(version string) sdk.Plugin {
	return sdk.Plugin{Name: name, Version: version, Providers: []sdk.Provider{New(os.Environ)}}
}

// Provider drives Codex. It is safe for concurrent use: each attempt is a process of its own, and
// Codex locks the state that its processes share.
type Provider struct {
	environ  func() []string
	versions cliagent.Versions
}

// New returns a provider whose agents start from the environment that environ returns, usually
// os.Environ; it is asked once for each call.
func New(environ func() []string) *Provider {
	return &Provider{environ: environ}
}

// Describe says what a pipeline may ask of the provider. The models are those known to work; the
// configuration may add others.
func (p *Provider) Describe() sdk.Component {
	return sdk.Component{
		Name:         name,
		Aliases:      []string{"openai"},
		Summary:      "OpenAI Codex, driven through its command line",
		ConfigSchema: configSchema,
		Needs:        &sdk.Needs{Network: true, Read: []string{"~/.local/bin"}, Write: []string{"~/.codex", "${CODEX_HOME}"}},
		Provider: &sdk.ProviderTraits{
			Models: slices.Clone(knownModels), DefaultModel: defaultModel, ModelChoice: sdk.ModelsConfigurable, Locality: sdk.LocalityRemote,
			ReasoningEffort: true, Efforts: slices.Clone(efforts), DefaultEffort: defaultEffort,
			ObservedTools: true, Usage: sdk.ReportsAlways, Cost: sdk.ReportsSome, SoftCancel: true,
		},
	}
}

// Validate refuses a configuration or a model that cannot work, and one whose command is not installed.
func (p *Provider) Validate(_ context.Context, req sdk.ValidateRequest) error {
	cfg, err := readConfig(req.Config)
	if err != nil {
		return err
	}
	env := cliagent.Environ(p.environ(), nil)
	if _, err := choose(req.Model, cfg, env); err != nil {
		return err
	}
	if _, err := timing(0, cfg, env); err != nil {
		return err
	}
	_, err = cliagent.Lookup(name, cfg.Command, install, env)
	return err
}

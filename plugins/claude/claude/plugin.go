package claude

import (
	"context"
	_ "embed"
	"os"
	"sync/atomic"

	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/cliagent"
)

const (
	name    = "claude"
	install = "npm install -g @anthropic-ai/claude-code"
)

//go:embed config.schema.json
var configSchema []byte

// Plugin is the plugin agent-plugin-claude. The version is a semantic version without a leading v.
func Plugin(version string) sdk.Plugin {
	return sdk.Plugin{Name: name, Version: version, Providers: []sdk.Provider{New(os.Environ)}}
}

// Provider drives Claude Code. It is safe for concurrent use: each attempt is a process of its own,
// and Claude Code locks the state that its processes share.
type Provider struct {
	environ  func() []string
	versions cliagent.Versions
	// contained: the kernel confines the process, so that Claude Code, run by root, may let permissions be bypassed.
	contained atomic.Bool
}

// New returns a provider whose agents start from the environment that environ returns, usually
// os.Environ; it is asked once for each call.
func New(environ func() []string) *Provider {
	return &Provider{environ: environ}
}

// Describe says what a pipeline may ask of the provider. Models are not listed: the command line takes
// any name and only the service knows which exist. Usage and cost are Claude Code's own count, of its last
// event; where that does not come, only what was sent is known.
func (p *Provider) Describe() sdk.Component {
	return sdk.Component{
		Name:         name,
		Aliases:      []string{"claude-code", "anthropic"},
		Summary:      "Claude Code, driven through its command line",
		ConfigSchema: configSchema,
		Needs: &sdk.Needs{
			Network: true,
			Read:    []string{"~/.local/bin", "~/.local/share/claude"},
			Write:   []string{"~/.claude", "~/.claude.json", "${CLAUDE_CONFIG_DIR}"},
		},
		Provider: &sdk.ProviderTraits{
			DefaultModel: defaultModel, ModelChoice: sdk.ModelsAny, Locality: sdk.LocalityRemote,
			ObservedTools: true, Usage: sdk.ReportsAlways, Cost: sdk.ReportsAlways, SoftCancel: true, ContextTokens: contextTokens,
		},
	}
}

// Init implements [sdk.Initializer].
func (p *Provider) Init(_ context.Context, req sdk.InitRequest) error {
	p.contained.Store(req.Sandbox != "")
	return nil
}

// Validate refuses a configuration that cannot work, and one whose command is not installed.
func (p *Provider) Validate(_ context.Context, req sdk.ValidateRequest) error {
	cfg, err := readConfig(req.Config)
	if err != nil {
		return err
	}
	_, err = cliagent.Lookup(name, cfg.Command, install, p.environment(nil, cfg))
	return err
}

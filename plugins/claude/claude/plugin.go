package claude

import (
	"context"
	_ "embed"
	"os"
	"slices"

	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/cliagent"
)

//go:embed config.schema.json
var configSchema []byte

// Plugin returns the plugin agent-plugin-claude. The version is a semantic version without a leading v.
func Plugin(version string) sdk.Plugin {
	return sdk.Plugin{Name: name, Version: version, Providers: []sdk.Provider{New(os.Environ)}}
}

// Describe returns the provider's traits. Models are not listed: the command line accepts any name, and only the
// service knows the valid names. Usage and cost are Claude Code's own count in its last event; without this event only
// the input is known.
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
			Environment: slices.Concat(login.Variables, []string{ // of Claude models in other clouds, and of a proxy
				"ANTHROPIC_CUSTOM_HEADERS", "ANTHROPIC_FOUNDRY_API_KEY", "AWS_ACCESS_KEY_ID", "AWS_BEARER_TOKEN_BEDROCK", "AWS_SECRET_ACCESS_KEY",
				"AWS_SESSION_TOKEN", "CLAUDE_CODE_CLIENT_KEY", "CLAUDE_CODE_CLIENT_KEY_PASSPHRASE", "GOOGLE_APPLICATION_CREDENTIALS",
			}),
		},
		Provider: &sdk.ProviderTraits{
			DefaultModel: defaultModel, ModelChoice: sdk.ModelsAny, Locality: sdk.LocalityRemote,
			ObservedTools: true, Usage: sdk.ReportsAlways, Cost: sdk.ReportsAlways, SoftCancel: true, ContextTokens: contextTokens,
		},
	}
}

// Init implements [sdk.Initializer]: it records whether the kernel confines the process.
func (p *Provider) Init(_ context.Context, req sdk.InitRequest) error {
	p.contained.Store(req.Sandbox != "")
	return nil
}

// Validate refuses a configuration that cannot work, and a command that is not installed.
func (p *Provider) Validate(_ context.Context, req sdk.ValidateRequest) error {
	cfg, err := readConfig(req.Config)
	if err != nil {
		return err
	}
	_, err = cliagent.Lookup(name, cfg.Command, installCommand, p.environment(nil, cfg))
	return err
}

// login describes the evidence of a login to Claude Code. On macOS the login is in the keychain.
var login = cliagent.Login{
	Variables: []string{"ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN", "CLAUDE_CODE_USE_BEDROCK", "CLAUDE_CODE_USE_VERTEX"},
	Files:     []string{"${CLAUDE_CONFIG_DIR}/.credentials.json", "~/.claude/.credentials.json"},
	Hint:      "log in: run claude and type /login, or set ANTHROPIC_API_KEY",
}

// measured is the version that the plugin was tested with; test/e2ereal pins it.
var measured = cliagent.TestedVersion{Version: "2.1.329", Update: "npm install -g @anthropic-ai/claude-code, or claude update"}

// Diagnose implements [sdk.Diagnoser].
func (p *Provider) Diagnose(ctx context.Context, req sdk.ValidateRequest) ([]sdk.Finding, error) {
	cfg, err := readConfig(req.Config)
	if err != nil {
		return nil, err
	}
	cmd, err := p.command(sdk.ExecuteRequest{Model: req.Model}, cfg)
	if err != nil {
		return nil, err
	}
	findings := []sdk.Finding{p.versions.Diagnose(ctx, cmd, measured), login.Diagnose(cmd.Env)}
	if os.Geteuid() == 0 && cfg.PermissionMode == bypassPermissions && cliagent.Getenv(cmd.Env, "IS_SANDBOX") != "1" {
		findings = append(findings, sdk.Finding{
			About: "permissions", State: sdk.FindingBad, Detail: "Claude Code refuses to bypass permissions as root",
			Hint: "run as another user, ask for isolation (--sandbox workspace), or in a container set is_sandbox: true in the configuration of provider claude",
		})
	}
	return findings, nil
}

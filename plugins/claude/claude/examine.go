package claude

import (
	"context"
	"os"

	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/cliagent"
)

// login is what shows that Claude Code is logged in. On macOS the login lies in the keychain.
var login = cliagent.Login{
	Variables: []string{"ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN", "CLAUDE_CODE_USE_BEDROCK", "CLAUDE_CODE_USE_VERTEX"},
	Files:     []string{"${CLAUDE_CONFIG_DIR}/.credentials.json", "~/.claude/.credentials.json"},
	Hint:      "log in: run claude and type /login, or set ANTHROPIC_API_KEY",
}

// measured is the release that the plugin was measured with; test/e2ereal pins it.
var measured = cliagent.Measured{Version: "2.1.329", Update: "npm install -g @anthropic-ai/claude-code, or claude update"}

// Examine implements [sdk.Examiner].
func (p *Provider) Examine(ctx context.Context, req sdk.ValidateRequest) ([]sdk.Finding, error) {
	cfg, err := readConfig(req.Config)
	if err != nil {
		return nil, err
	}
	cmd, err := p.command(sdk.ExecuteRequest{Model: req.Model}, cfg)
	if err != nil {
		return nil, err
	}
	findings := []sdk.Finding{p.versions.Examine(ctx, cmd, measured), login.Examine(cmd.Env)}
	if os.Geteuid() == 0 && cfg.PermissionMode == bypass && cliagent.Getenv(cmd.Env, "IS_SANDBOX") != "1" {
		findings = append(findings, sdk.Finding{
			About: "permissions", State: sdk.FindingBad, Detail: "Claude Code refuses to bypass permissions as root",
			Hint: "run as another user, ask for isolation (--sandbox workspace), or in a container set is_sandbox: true in the configuration of provider claude",
		})
	}
	return findings, nil
}

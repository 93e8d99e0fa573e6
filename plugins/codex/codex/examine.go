package codex

import (
	"context"

	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/cliagent"
)

// login is what shows that Codex is logged in.
var login = cliagent.Login{
	Variables: []string{"OPENAI_API_KEY", "CODEX_API_KEY"},
	Files:     []string{"${CODEX_HOME}/auth.json", "~/.codex/auth.json"},
	Hint:      "log in: run codex login, or set OPENAI_API_KEY",
}

// measured is the release that the plugin was measured with; test/e2ereal pins it.
var measured = cliagent.Measured{Version: "0.169.0", Update: "npm install -g @openai/codex"}

// Examine implements [sdk.Examiner].
func (p *Provider) Examine(ctx context.Context, req sdk.ValidateRequest) ([]sdk.Finding, error) {
	cfg, err := readConfig(req.Config)
	if err != nil {
		return nil, err
	}
	env := cliagent.Environ(p.environ(), nil)
	path, err := cliagent.Lookup(name, cfg.Command, install, env)
	if err != nil {
		return nil, err
	}
	cmd := cliagent.Command{Name: name, Path: path, Env: env}
	return []sdk.Finding{p.versions.Examine(ctx, cmd, measured), login.Examine(env)}, nil
}

package acp

import (
	"context"

	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/cliagent"
)

// Examine implements [sdk.Examiner]. The version is not asked for: some agents take seconds to tell it, others begin to serve.
func (p *Provider) Examine(_ context.Context, req sdk.ValidateRequest) ([]sdk.Finding, error) {
	s, err := p.read(req.Config)
	if err != nil {
		return nil, err
	}
	env := cliagent.Environ(p.environ(), s.Env)
	path, err := p.lookup(s, env)
	if err != nil {
		return nil, err
	}
	findings := []sdk.Finding{{About: "program", State: sdk.FindingOK, Detail: path}}
	if s.agent == "" {
		return findings, nil // nothing is known of its login
	}
	return append(findings, cliagent.Login{Variables: s.keys, Files: s.logins, Hint: s.login}.Examine(env)), nil
}

package acp

import (
	"cmp"
	"context"
	_ "embed"
	"encoding/json"
	"os"

	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/cliagent"
)

//go:embed config.schema.json
var configSchema []byte

// Plugin returns the plugin agent-plugin-acp: a provider for any agent, and one for each known agent. The version is a
// semantic version without a leading v.
func Plugin(version string) sdk.Plugin {
	p := sdk.Plugin{Name: name, Version: version, Providers: []sdk.Provider{New("", os.Environ)}}
	for _, known := range profiles {
		p.Providers = append(p.Providers, New(known.agent, os.Environ))
	}
	return p
}

// Describe returns the provider's traits. Traits that depend on the agent are those of most agents: requests for permission,
// and resumable sessions.
func (p *Provider) Describe() sdk.Component {
	c := sdk.Component{
		Name:         name,
		Summary:      "Any agent that speaks the Agent Client Protocol",
		ConfigSchema: configSchema,
		Needs:        &sdk.Needs{Network: true, Read: []string{"~/.local/bin"}},
		Provider: &sdk.ProviderTraits{
			ModelChoice: sdk.ModelsAny, Locality: sdk.LocalityRemote, GatedTools: true, ObservedTools: true,
			Usage: sdk.ReportsSome, Cost: sdk.ReportsSome, Resume: true, SoftCancel: true,
		},
	}
	for _, known := range profiles {
		c.Needs.Environment = append(c.Needs.Environment, known.keys...)
	}
	if p.profile != nil {
		c.Name, c.Summary = name+"-"+p.profile.agent, p.profile.title+", driven through the Agent Client Protocol"
		c.ConfigSchema = withoutAgent(configSchema)
		c.Needs.Write, c.Needs.Environment = p.profile.writes, p.profile.keys
		c.Provider.NestedSandbox = p.profile.nestedSandbox
		if p.profile.partialUsage {
			c.Provider.Usage = sdk.ReportsNever
		}
		if p.profile.unpriced {
			c.Provider.Cost = sdk.ReportsNever
		}
	}
	return c
}

// withoutAgent returns the schema without the key agent, for a provider with a fixed agent.
func withoutAgent(schema []byte) []byte {
	var tree map[string]any
	if err := json.Unmarshal(schema, &tree); err != nil {
		panic(err) // the file is part of the plugin
	}
	delete(tree["properties"].(map[string]any), "agent") //nolint:forcetypeassert // as above
	short, err := json.Marshal(tree)
	if err != nil {
		panic(err)
	}
	return short
}

// Validate refuses a configuration that cannot work, and a command that is not installed.
func (p *Provider) Validate(_ context.Context, req sdk.ValidateRequest) error {
	s, err := p.readConfig(req.Config)
	if err != nil {
		return err
	}
	_, err = p.lookup(s, cliagent.Environ(p.environ(), s.Env))
	return err
}

// Diagnose implements [sdk.Diagnoser]. It does not read the version: some agents take seconds to print it, others start
// to serve instead.
func (p *Provider) Diagnose(_ context.Context, req sdk.ValidateRequest) ([]sdk.Finding, error) {
	s, err := p.readConfig(req.Config)
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
		return findings, nil // the agent's login is unknown
	}
	return append(findings, cliagent.Login{Variables: s.keys, Files: s.logins, Hint: s.login}.Diagnose(env)), nil
}

// lookup returns the path of the agent's program.
func (p *Provider) lookup(s setup, env []string) (string, error) {
	return cliagent.Lookup(p.Describe().Name, s.command[0], cmp.Or(s.install, "the instructions of its vendor"), env)
}

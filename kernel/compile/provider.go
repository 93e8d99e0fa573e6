package compile

import (
	"cmp"

	"github.com/dodo-digital/agent-pipelines/kernel/dialect"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/kernel/sources"
	"github.com/dodo-digital/agent-pipelines/kernel/yamldoc"
	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
)

// providerChoice is a provider and a model before they are resolved. An empty model means the provider's default.
type providerChoice struct {
	provider, model string
	at              dialect.Location // location of the provider's name
}

// resolveProvider resolves the provider and model of a node. The first set value wins: command line, environment,
// node, stage, defaults of the pipeline, configuration files, default provider.
func resolveProvider(c *compiler, node, stage, defaults sources.Settings) *plan.Provider {
	chosen := providerFromFiles(c, node, stage, defaults)
	chosen = overrideProvider(c, chosen, providerChoice{c.Env.Provider, c.Env.Model, c.externalLocation("CLAUDE_PIPELINE_PROVIDER")})
	chosen = overrideProvider(c, chosen, providerChoice{c.Overrides.Provider, c.Overrides.Model, c.overrideLocation("provider")})
	checkMismatch(c, chosen, node, stage)
	name, model, ok := c.Catalog.Provider(chosen.provider)
	switch {
	case ok:
		checkMode(c, name, chosen.at)
		refuseCommandProvider(name, chosen.at)
		p := &plan.Provider{Type: name, Model: cmp.Or(chosen.model, model)}
		if c.singleStage && name != chosen.provider {
			p.Alias = chosen.provider
		}
		return p
	case chosen.provider == "":
		chosen.at.Errorf(yamldoc.CodeProvider, "set one: provider: <name>, or "+c.OverrideLabel("provider")+"=<name>; "+dialect.DidYouMean("", c.Catalog.Providers()), "no provider is set")
	default:
		chosen.at.Errorf(yamldoc.CodeProvider, c.missingHint(sdk.KindProvider, chosen.provider, c.Catalog.Providers()), "unknown provider: %s", sources.Unquoted(chosen.provider))
	}
	return nil
}

// providerFromFiles returns the choice of the files. As in the Bash engine, a node or stage with a provider but no
// model gets the provider's default model, not that of the pipeline.
func providerFromFiles(c *compiler, node, stage, defaults sources.Settings) providerChoice {
	chosen := providerChoice{model: cmp.Or(node.Model, stage.Model)}
	for _, s := range []sources.Settings{node, stage, defaults} {
		if s.Provider != "" {
			chosen.provider, chosen.at = s.Provider, s.ProviderAt
			break
		}
	}
	if node.Provider == "" && stage.Provider == "" {
		chosen.model = cmp.Or(chosen.model, defaults.Model)
	}
	if d := c.Defaults; chosen.provider == "" && d.Provider != "" {
		chosen.provider, chosen.at = d.Provider, dialect.Location{Document: c.document(d.File), Pos: d.At}
	}
	if chosen.provider == "" {
		chosen.provider, chosen.at = c.DefaultProvider, node.Location(dialect.Member{})
	}
	return chosen
}

// checkMismatch warns of a node that changes its stage's provider but not its model. The model goes to
// the new provider, as in the Bash engine.
func checkMismatch(c *compiler, chosen providerChoice, node, stage sources.Settings) {
	changed := node.Provider != "" && stage.Provider != "" && canonicalProvider(c, node.Provider) != canonicalProvider(c, stage.Provider)
	if changed && node.Model == "" && stage.Model != "" && chosen.at == node.ProviderAt && chosen.model == stage.Model {
		node.ProviderAt.Warnf(yamldoc.CodeMismatch, "name the model beside the provider",
			"model %q, which the stage names for %s, goes to %s", stage.Model, stage.Provider, node.Provider)
	}
}

// overrideProvider applies an override to a choice. An override with another provider also replaces the model, which
// the new provider would refuse.
func overrideProvider(c *compiler, chosen, over providerChoice) providerChoice {
	if over.provider != "" && canonicalProvider(c, over.provider) != canonicalProvider(c, chosen.provider) {
		return over
	}
	chosen.model = cmp.Or(over.model, chosen.model)
	return chosen
}

func canonicalProvider(c *compiler, provider string) string {
	if name, _, ok := c.Catalog.Provider(provider); ok {
		return name
	}
	return provider
}

// refuseCommandProvider reports the provider command, which reads no prompts, where a prompt is needed.
func refuseCommandProvider(provider string, at dialect.Location) {
	if provider == plan.ProviderCommand {
		at.Errorf(yamldoc.CodeProvider, "write wraps: {run: …} on a node, or name another provider", "provider %s runs wrapped commands and reads no prompts", provider)
	}
}

// checkMode reports a provider with a remote model under a mode that allows only local models.
func checkMode(c *compiler, provider string, at dialect.Location) {
	l, ok := c.Catalog.(Locator)
	if !ok || !plan.LocalMode(c.mode) || l.Locality(provider) != sdk.LocalityRemote {
		return
	}
	at.Errorf(yamldoc.CodeMode, "use a provider with a local model, such as agent, or another mode", "provider %s uses a remote model, which mode %s does not allow", provider, c.mode)
}

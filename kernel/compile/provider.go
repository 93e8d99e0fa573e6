package compile

import (
	"cmp"
	"reflect"

	"github.com/dodo-digital/agent-pipelines/kernel/dialect"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/kernel/sources"
	"github.com/dodo-digital/agent-pipelines/kernel/yamldoc"

	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
)

// providerChoice is a provider and a model before they are resolved. An empty model is the provider's default.
type providerChoice struct {
	provider, model string
	at              dialect.Location // location of the provider's name
}

// provider resolves the provider and model of a node. The order is: command line, environment, node, stage,
// defaults of the pipeline, configuration files.
func (c *compiler) provider(node, stage, defaults sources.Settings) *plan.Provider {
	chosen := c.providerFromFiles(node, stage, defaults)
	chosen = c.overrideProvider(chosen, providerChoice{c.Env.Provider, c.Env.Model, c.externalLocation("CLAUDE_PIPELINE_PROVIDER")})
	chosen = c.overrideProvider(chosen, providerChoice{c.Overrides.Provider, c.Overrides.Model, c.externalLocation("--provider")})
	c.checkMismatch(chosen, node, stage)
	name, model, ok := c.Catalog.Provider(chosen.provider)
	switch {
	case ok:
		c.checkMode(name, chosen.at)
		refuseCommandProvider(name, chosen.at)
		p := &plan.Provider{Type: name, Model: cmp.Or(chosen.model, model)}
		if c.singleStage && name != chosen.provider {
			p.Alias = chosen.provider
		}
		return p
	case chosen.provider == "":
		chosen.at.Errorf(yamldoc.CodeProvider, "set one: provider: <name>, or --provider=<name>; "+dialect.DidYouMean("", c.Catalog.Providers()), "no provider is set")
	default:
		chosen.at.Errorf(yamldoc.CodeProvider, c.missingHint(sdk.KindProvider, chosen.provider, c.Catalog.Providers()), "unknown provider: %s", sources.Unquoted(chosen.provider))
	}
	return nil
}

// providerFromFiles returns the choice of the files. As in the Bash engine, a node or stage with a provider but no
// model gets the provider's default model, not that of the pipeline.
func (c *compiler) providerFromFiles(node, stage, defaults sources.Settings) providerChoice {
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

// checkMismatch warns of a node that changes its stage's provider but not the model beside it. The model goes to
// the new provider, as in the Bash engine.
func (c *compiler) checkMismatch(chosen providerChoice, node, stage sources.Settings) {
	changed := node.Provider != "" && stage.Provider != "" && c.canonicalProvider(node.Provider) != c.canonicalProvider(stage.Provider)
	if changed && node.Model == "" && stage.Model != "" && chosen.at == node.ProviderAt && chosen.model == stage.Model {
		node.ProviderAt.Warnf(yamldoc.CodeMismatch, "name the model beside the provider",
			"model %q, which the stage names for %s, goes to %s", stage.Model, stage.Provider, node.Provider)
	}
}

// overrideProvider applies an override to a choice. Another provider also replaces the model, which it would
// refuse.
func (c *compiler) overrideProvider(chosen, over providerChoice) providerChoice {
	if over.provider != "" && c.canonicalProvider(over.provider) != c.canonicalProvider(chosen.provider) {
		return over
	}
	chosen.model = cmp.Or(over.model, chosen.model)
	return chosen
}

func (c *compiler) canonicalProvider(provider string) string {
	if name, _, ok := c.Catalog.Provider(provider); ok {
		return name
	}
	return provider
}

// externalLocation returns the location of a flag or an environment variable.
func (c *compiler) externalLocation(name string) dialect.Location {
	return dialect.Location{Document: c.document(name)}
}

// planOverrides returns the overrides for the plan: those of the command line, else of the environment; nil for
// none.
func (c *compiler) planOverrides() *plan.Overrides {
	o := c.Overrides
	overrides := plan.Overrides{
		Provider: cmp.Or(o.Provider, c.Env.Provider),
		Model:    cmp.Or(o.Model, c.Env.Model),
		Context:  cmp.Or(o.Context, c.Env.Context),
		Inputs:   o.Inputs,
		Commands: o.Commands,
		Sandbox:  o.Sandbox, Mode: o.Mode,
		Skip: o.Skip, MaxCycles: o.MaxCycles, Timeout: o.Timeout.Seconds(),
		Start: o.Start, ExitAfter: o.ExitAfter, Supervised: o.Supervised, Iterate: o.Iterate, Artifacts: o.Artifacts,
	}
	for id, d := range o.Timeouts {
		if overrides.Timeouts == nil {
			overrides.Timeouts = map[string]float64{}
		}
		overrides.Timeouts[id] = d.Seconds()
	}
	if reflect.ValueOf(overrides).IsZero() {
		return nil
	}
	return &overrides
}

// refuseCommandProvider reports the provider command, which reads no prompts, where a prompt is needed.
func refuseCommandProvider(provider string, at dialect.Location) {
	if provider == plan.ProviderCommand {
		at.Errorf(yamldoc.CodeProvider, "write wraps: {run: …} on a node, or name another provider", "provider %s runs wrapped commands and reads no prompts", provider)
	}
}

// Locator is implemented by a [Catalog] that knows the locality of models.
type Locator interface {
	// Locality returns the locality of a provider's model; "" if it is unknown.
	Locality(provider string) sdk.Locality
}

// checkMode reports a provider with a remote model under a mode that allows only local models.
func (c *compiler) checkMode(provider string, at dialect.Location) {
	l, ok := c.Catalog.(Locator)
	if !ok || !plan.LocalMode(c.mode) || l.Locality(provider) != sdk.LocalityRemote {
		return
	}
	at.Errorf(yamldoc.CodeMode, "use a provider with a local model, such as agent, or another mode", "provider %s uses a remote model, which mode %s does not allow", provider, c.mode)
}

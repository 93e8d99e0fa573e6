package compile

import (
	"cmp"
	"reflect"

	"github.com/dodo-digital/agent-pipelines/kernel/diagnostic"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
)

// providerChoice is a provider and a model before they are resolved. An empty model means the provider's
// default.
type providerChoice struct {
	provider, model string
	at              location // where the provider was named
}

// provider resolves the provider and model of a node. Of the files, the node beats its stage, which
// beats the pipeline's defaults, which beat the files of settings; the environment beats the files, the
// command line everything.
func (c *compiler) provider(node, stage, defaults settings) *plan.Provider {
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
		chosen.at.errorf(diagnostic.CodeProvider, "name one: provider: <name>, or --provider=<name>; "+didYouMean("", c.Catalog.Providers()), "no provider is named")
	default:
		chosen.at.errorf(diagnostic.CodeProvider, c.missingHint(sdk.KindProvider, chosen.provider, c.Catalog.Providers()), "unknown provider: %s", unquoted(chosen.provider))
	}
	return nil
}

// providerFromFiles follows the Bash engine: a node or stage that names a provider but no model gets that
// provider's default model, not the pipeline's. What the pipeline's files leave open the files of settings
// say.
func (c *compiler) providerFromFiles(node, stage, defaults settings) providerChoice {
	chosen := providerChoice{model: cmp.Or(node.model, stage.model)}
	for _, s := range []settings{node, stage, defaults} {
		if s.provider != "" {
			chosen.provider, chosen.at = s.provider, s.providerAt
			break
		}
	}
	if node.provider == "" && stage.provider == "" {
		chosen.model = cmp.Or(chosen.model, defaults.model)
	}
	if d := c.Defaults; chosen.provider == "" && d.Provider != "" {
		chosen.provider, chosen.at = d.Provider, location{c.document(d.File), d.At}
	}
	if chosen.provider == "" {
		chosen.provider, chosen.at = c.DefaultProvider, node.location(value{})
	}
	return chosen
}

// checkMismatch warns where a node changes its stage's provider but not the model that the stage
// names beside it: the Bash engine hands the one to the other, and so do we.
func (c *compiler) checkMismatch(chosen providerChoice, node, stage settings) {
	changed := node.provider != "" && stage.provider != "" && c.canonicalProvider(node.provider) != c.canonicalProvider(stage.provider)
	if changed && node.model == "" && stage.model != "" && chosen.at == node.providerAt && chosen.model == stage.model {
		node.providerAt.Warnf(node.providerAt.pos, diagnostic.CodeMismatch, "name the model beside the provider",
			"model %q, which the stage names for %s, goes to %s", stage.model, stage.provider, node.provider)
	}
}

// overrideProvider lays an override over a choice. A provider that differs from the chosen one brings its
// own model: a model that was meant for another provider would be refused by it.
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

// externalLocation is the place of a value that came from no file.
func (c *compiler) externalLocation(name string) location {
	return location{document: c.document(name)}
}

// planOverrides is what the plan records of them: the command line's word, else the environment's; nil
// if neither said anything.
func (c *compiler) planOverrides() *plan.Overrides {
	o := c.Overrides
	said := plan.Overrides{
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
		if said.Timeouts == nil {
			said.Timeouts = map[string]float64{}
		}
		said.Timeouts[id] = d.Seconds()
	}
	if reflect.ValueOf(said).IsZero() {
		return nil
	}
	return &said
}

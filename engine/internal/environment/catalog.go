package environment

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/kernel/pluginhost"
	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
)

// Catalog answers the compiler's questions about components from the plugin host.
type Catalog struct {
	ctx     context.Context //nolint:containedctx // it lives for one compilation, whose interface has no ctx
	host    *pluginhost.Host
	listing pluginhost.Listing
	user    ProviderConfigs
	// Starting reports that a run follows, which checks every provider and strategy. A component of a broken
	// plugin then counts as existing, so that the run fails with the plugin's own error.
	Starting bool
}

// NewCatalog describes all components; plugins without a cached description are started. The user's models
// take precedence over the providers' defaults.
func NewCatalog(ctx context.Context, host *pluginhost.Host, user ProviderConfigs) (*Catalog, error) {
	listing, err := host.List(ctx)
	return &Catalog{ctx: ctx, host: host, listing: listing, user: user}, err
}

// Canonical implements settings.Names.
func (c *Catalog) Canonical(name string) (canonical string, ok bool) {
	canonical, _, ok = c.Provider(name)
	return canonical, ok
}

// Provider implements compile.Catalog.
func (c *Catalog) Provider(name string) (canonical, defaultModel string, ok bool) {
	component, err := c.host.Component(c.ctx, sdk.KindProvider, name)
	if err != nil {
		return name, "", c.willFail(name)
	}
	if component.Provider != nil {
		defaultModel = component.Provider.DefaultModel
	}
	return component.Name, cmp.Or(c.user[component.Name].Model, defaultModel), true
}

// Termination implements compile.Catalog.
func (c *Catalog) Termination(name string) bool {
	_, err := c.host.Component(c.ctx, sdk.KindTermination, name)
	return err == nil || c.willFail(name)
}

// willFail reports whether the run that follows will fail because of the plugin of this name.
func (c *Catalog) willFail(name string) bool { return c.Starting && c.host.LoadError(name) != nil }

// Advice implements compile.Adviser.
func (c *Catalog) Advice(kind sdk.Kind, name string) string {
	if by, off := c.host.DisabledBy(kind, name); off {
		return fmt.Sprintf("this program serves it itself, which is turned off by %s", by)
	}
	if f := c.host.LoadError(name); f != nil {
		return fmt.Sprintf("a plugin of this name cannot be used: %s", f.Message)
	}
	return ""
}

// Models implements lint.Catalog.
func (c *Catalog) Models(provider string) (known []string, only bool) {
	component, err := c.host.Component(c.ctx, sdk.KindProvider, provider)
	if err != nil || component.Provider == nil {
		return nil, false
	}
	traits := component.Provider.WithDefaults()
	return traits.Models, traits.ModelChoice == sdk.ModelsListed
}

// Locality implements compile.Locator.
func (c *Catalog) Locality(provider string) sdk.Locality {
	component, err := c.host.Component(c.ctx, sdk.KindProvider, provider)
	if err != nil || component.Provider == nil {
		return ""
	}
	return component.Provider.WithDefaults().Locality
}

// Reports implements lint.Catalog.
func (c *Catalog) Reports(provider string) (usd, tokens bool) {
	component, err := c.host.Component(c.ctx, sdk.KindProvider, provider)
	if err != nil || component.Provider == nil {
		return true, true
	}
	traits := component.Provider.WithDefaults()
	return traits.Cost != sdk.ReportsNever, traits.Usage != sdk.ReportsNever
}

// OffersTools implements lint.Catalog.
func (c *Catalog) OffersTools(provider string) bool {
	component, err := c.host.Component(c.ctx, sdk.KindProvider, provider)
	if err != nil || component.Provider == nil {
		return true
	}
	traits := component.Provider.WithDefaults()
	return traits.GatedTools || traits.ObservedTools
}

// HookAction implements compile.Catalog.
func (c *Catalog) HookAction(name string) (canonical string, ok bool) {
	component, err := c.host.Component(c.ctx, sdk.KindHookAction, name)
	return component.Name, err == nil
}

// HookActions implements compile.Catalog.
func (c *Catalog) HookActions() []string { return c.componentNames(sdk.KindHookAction) }

// Providers implements compile.Catalog.
func (c *Catalog) Providers() []string { return c.componentNames(sdk.KindProvider) }

// Terminations implements compile.Catalog.
func (c *Catalog) Terminations() []string { return c.componentNames(sdk.KindTermination) }

func (c *Catalog) componentNames(kind sdk.Kind) []string {
	var names []string
	for _, component := range c.listing.Registered {
		if component.Kind == kind {
			names = append(names, component.Name)
		}
	}
	for _, p := range c.listing.Plugins {
		for _, component := range p.Description.Components {
			if component.Kind == kind {
				names = append(names, component.Name)
			}
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// BlockProviders maps the provider names in the plan's blocks to components, nil if there are no blocks.
func (c *Catalog) BlockProviders(p *plan.Plan) map[string]event.Provider {
	var providers map[string]event.Provider
	for n := range p.All() {
		for _, b := range n.Providers {
			if providers == nil {
				providers = map[string]event.Provider{}
			}
			name, model, _ := c.Provider(b.Name) // the compiler has checked the name
			providers[b.Name] = event.Provider{Type: name, Model: model}
		}
	}
	return providers
}

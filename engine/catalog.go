package engine

import (
	"context"
	"fmt"
	"slices"

	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"

	"github.com/dodo-digital/agent-pipelines/kernel/pluginhost"
)

// catalog answers the compiler's questions about components from the plugin host.
type catalog struct {
	ctx     context.Context //nolint:containedctx // it lives for one compilation, whose interface has no ctx
	host    *pluginhost.Host
	listing pluginhost.Listing
	user    userConfigs
	// starting: a run is about to begin, which tries every provider and strategy before any work. One whose plugin is
	// broken is taken for there, so that the run is refused for what is wrong with the plugin, with its own code.
	starting bool
}

// newCatalog describes all that is there; plugins that are not remembered are started for it. user's
// models go before those of the providers.
func newCatalog(ctx context.Context, host *pluginhost.Host, user userConfigs) (*catalog, error) {
	listing, err := host.List(ctx)
	return &catalog{ctx: ctx, host: host, listing: listing, user: user}, err
}

// Canonical implements settings.Names.
func (c *catalog) Canonical(name string) (canonical string, ok bool) {
	canonical, _, ok = c.Provider(name)
	return canonical, ok
}

// Provider implements compile.Catalog.
func (c *catalog) Provider(name string) (canonical, defaultModel string, ok bool) {
	component, err := c.host.Component(c.ctx, sdk.KindProvider, name)
	if err != nil {
		return name, "", c.willFail(name)
	}
	if component.Provider != nil {
		defaultModel = component.Provider.DefaultModel
	}
	return component.Name, orElse(c.user[component.Name].Model, defaultModel), true
}

// Termination implements compile.Catalog.
func (c *catalog) Termination(name string) bool {
	_, err := c.host.Component(c.ctx, sdk.KindTermination, name)
	return err == nil || c.willFail(name)
}

// willFail says whether the run that begins will fail for the plugin of this name.
func (c *catalog) willFail(name string) bool { return c.starting && c.host.Broken(name) != nil }

// Advice implements compile.Adviser.
func (c *catalog) Advice(kind sdk.Kind, name string) string {
	if by, off := c.host.TurnedOff(kind, name); off {
		return fmt.Sprintf("this program serves it itself, which is turned off by %s", by)
	}
	if f := c.host.Broken(name); f != nil {
		return fmt.Sprintf("there is a plugin of this name, which cannot be used: %s", f.Message)
	}
	return ""
}

// Models implements lint.Catalog.
func (c *catalog) Models(provider string) (known []string, only bool) {
	component, err := c.host.Component(c.ctx, sdk.KindProvider, provider)
	if err != nil || component.Provider == nil {
		return nil, false
	}
	traits := component.Provider.Complete()
	return traits.Models, traits.ModelChoice == sdk.ModelsListed
}

// Locality implements compile.Locator.
func (c *catalog) Locality(provider string) sdk.Locality {
	component, err := c.host.Component(c.ctx, sdk.KindProvider, provider)
	if err != nil || component.Provider == nil {
		return ""
	}
	return component.Provider.Complete().Locality
}

// Reports implements lint.Catalog.
func (c *catalog) Reports(provider string) (usd, tokens bool) {
	component, err := c.host.Component(c.ctx, sdk.KindProvider, provider)
	if err != nil || component.Provider == nil {
		return true, true
	}
	traits := component.Provider.Complete()
	return traits.Cost != sdk.ReportsNever, traits.Usage != sdk.ReportsNever
}

// OffersTools implements lint.Catalog.
func (c *catalog) OffersTools(provider string) bool {
	component, err := c.host.Component(c.ctx, sdk.KindProvider, provider)
	if err != nil || component.Provider == nil {
		return true
	}
	traits := component.Provider.Complete()
	return traits.GatedTools || traits.ObservedTools
}

// HookAction implements compile.Catalog.
func (c *catalog) HookAction(name string) (canonical string, ok bool) {
	component, err := c.host.Component(c.ctx, sdk.KindHookAction, name)
	return component.Name, err == nil
}

// HookActions implements compile.Catalog.
func (c *catalog) HookActions() []string { return c.names(sdk.KindHookAction) }

// Providers implements compile.Catalog.
func (c *catalog) Providers() []string { return c.names(sdk.KindProvider) }

// Terminations implements compile.Catalog.
func (c *catalog) Terminations() []string { return c.names(sdk.KindTermination) }

func (c *catalog) names(kind sdk.Kind) []string {
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

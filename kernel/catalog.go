package kernel

import (
	"context"
	"slices"

	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"

	"github.com/dodo-digital/agent-pipelines/kernel/internal/pluginhost"
)

// catalog answers the compiler's questions about components from the plugin host.
type catalog struct {
	ctx     context.Context //nolint:containedctx // it lives for one compilation, whose interface has no ctx
	host    *pluginhost.Host
	listing pluginhost.Listing
}

// newCatalog describes all that is there; plugins that are not remembered are started for it.
func newCatalog(ctx context.Context, host *pluginhost.Host) (*catalog, error) {
	listing, err := host.List(ctx)
	return &catalog{ctx: ctx, host: host, listing: listing}, err
}

// Provider implements compile.Catalog.
func (c *catalog) Provider(name string) (canonical, defaultModel string, ok bool) {
	component, err := c.host.Component(c.ctx, sdk.KindProvider, name)
	if err != nil {
		return "", "", false
	}
	if component.Provider != nil {
		defaultModel = component.Provider.DefaultModel
	}
	return component.Name, defaultModel, true
}

// Termination implements compile.Catalog.
func (c *catalog) Termination(name string) bool {
	_, err := c.host.Component(c.ctx, sdk.KindTermination, name)
	return err == nil
}

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

package environment

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/dodo-digital/agent-pipelines/kernel/pluginhost"
	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
)

// Catalog answers the compiler's questions about components from the plugin host.
type Catalog struct {
	ctx        context.Context //nolint:containedctx // it lives for one compilation, whose interface has no ctx
	host       *pluginhost.Host
	components []sdk.Component
	user       ProviderConfigs
	// Starting reports that a run follows, which checks every provider and strategy. A component of a broken
	// plugin then counts as existing, so that the run fails with the plugin's own error.
	Starting bool
}

// NewCatalog returns a catalog of all components, see [ListComponents]. The models in user take precedence over the
// providers' default models.
func NewCatalog(ctx context.Context, host *pluginhost.Host, user ProviderConfigs) (*Catalog, error) {
	components, err := ListComponents(ctx, host)
	return &Catalog{ctx: ctx, host: host, components: components, user: user}, err
}

// Provider implements compile.Catalog and settings.Catalog.
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
		return fmt.Sprintf("this program bundles it, but bundled plugins are turned off by %s", by)
	}
	if f := c.host.LoadError(name); f != nil {
		return fmt.Sprintf("a plugin of this name cannot be used: %s", f.Message)
	}
	return ""
}

// traits returns the traits of a provider with their defaults; they are empty if the provider has none.
func (c *Catalog) traits(provider string) sdk.ProviderTraits {
	component, err := c.host.Component(c.ctx, sdk.KindProvider, provider)
	if err != nil || component.Provider == nil {
		return sdk.ProviderTraits{}
	}
	return component.Provider.WithDefaults()
}

// Models implements lint.Catalog.
func (c *Catalog) Models(provider string) (known []string, exclusive bool) {
	traits := c.traits(provider)
	return traits.Models, traits.ModelChoice == sdk.ModelsListed
}

// Locality implements compile.Locator.
func (c *Catalog) Locality(provider string) sdk.Locality {
	return c.traits(provider).Locality
}

// Reports implements lint.Catalog.
func (c *Catalog) Reports(provider string) (usd, tokens bool) {
	traits := c.traits(provider)
	return traits.Cost != sdk.ReportsNever, traits.Usage != sdk.ReportsNever
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
	for _, component := range c.components {
		if component.Kind == kind {
			names = append(names, component.Name)
		}
	}
	slices.Sort(names)
	return names
}

// ListComponents describes all components, those of this process first; of components with the same kind and name the
// first counts. Plugins without a cached description are started.
func ListComponents(ctx context.Context, host *pluginhost.Host) ([]sdk.Component, error) {
	listing, err := host.List(ctx)
	all := listing.Registered
	for _, p := range listing.Plugins {
		all = append(all, p.Description.Components...)
	}
	seen := map[string]bool{}
	return slices.DeleteFunc(all, func(c sdk.Component) bool {
		id := fmt.Sprint(c.Kind, " ", c.Name)
		hidden := seen[id]
		seen[id] = true
		return hidden
	}), err
}

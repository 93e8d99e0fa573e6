package plugins

import (
	"fmt"
	"slices"
	"strings"

	"github.com/dodo-digital/agent-pipelines/cmd/agent-pipelines/internal/cli"
	"github.com/dodo-digital/agent-pipelines/cmd/agent-pipelines/internal/document"
	"github.com/dodo-digital/agent-pipelines/kernel/pluginhost"
	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
)

// Reports returns all plugins; the first plugin holds the built-in components.
func Reports(l pluginhost.Listing) []document.Plugin {
	all := []document.Plugin{{Name: "built-in", Source: "the kernel", Version: cli.Version, Components: l.Registered}}
	for _, p := range l.Plugins {
		r := document.Plugin{
			Name: p.Name, Version: p.Description.Version, Path: p.Path, Source: string(p.Source), SHA256: p.SHA256,
			Locked: string(p.LockStatus.Locked), Lock: p.LockStatus.Lock, Expected: p.LockStatus.SHA256,
			Protocols: p.Description.Protocols, SDK: p.Description.SDK, MTLS: p.Description.MTLS,
			Components: append([]sdk.Component{}, p.Description.Components...),
		}
		if p.Fault != nil {
			f := document.Fault(cli.NewFault(p.Fault))
			r.Fault = &f
		}
		all = append(all, r)
	}
	return all
}

// ProviderNames returns the names and aliases of the providers, sorted.
func ProviderNames(l pluginhost.Listing) []string {
	var names []string
	for _, p := range Reports(l) {
		for _, c := range p.Components {
			if c.Kind == sdk.KindProvider {
				names = append(append(names, c.Name), c.Aliases...)
			}
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// unknownPlugin returns the error for a name that no plugin and no component has. If a plugin of this name was ignored,
// the error says why.
func unknownPlugin(name string, all []document.Plugin, l pluginhost.Listing) error {
	var names []string
	for _, p := range all {
		names = append(names, p.Name)
		for _, c := range p.Components {
			names = append(append(names, c.Name), c.Aliases...)
		}
	}
	hint := fmt.Sprintf("`%s plugins list` shows the plugins", cli.Program)
	for _, i := range l.Ignored {
		if strings.HasSuffix(i.Path, " plugin serve "+name) || strings.HasSuffix(i.Path, "/agent-plugin-"+name) {
			return cli.UsageError(fmt.Sprintf("there is no plugin '%s': %s is %s", name, i.Path, i.Reason), "%s", hint)
		}
	}
	return cli.UsageError(fmt.Sprintf("there is no plugin '%s'", name), "%s%s", cli.DidYouMean(name, names), hint)
}

// NonNil returns a copy of items that is never nil, so that JSON has an empty list instead of null.
func NonNil[T any](items []T) []T { return append([]T{}, items...) }

// componentName returns a component's name with its aliases.
func componentName(c sdk.Component) string {
	if len(c.Aliases) == 0 {
		return c.Name
	}
	return c.Name + " (" + strings.Join(c.Aliases, ", ") + ")"
}

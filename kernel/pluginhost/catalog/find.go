package catalog

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/dodo-digital/agent-pipelines/plugin-sdk/nearest"

	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
)

// Conflict is a component that an earlier component of the same kind and name hides.
type Conflict struct {
	Kind sdk.Kind `json:"kind"`
	Name string   `json:"name"`
	// Used and Hidden are the plugins' command lines, "" for a component of this process.
	Used   string `json:"used"`
	Hidden string `json:"hidden"`
}

// Entries returns all usable components, registered ones first, and the hidden ones. A process that should
// already run and does not answer is always an error, because the user has named it.
func (c *Catalog) Entries(ctx context.Context) ([]Entry, []Conflict, error) {
	plugins, err := c.Plugins(ctx)
	if err == nil {
		err = unresponsive(plugins)
	}
	if err != nil {
		return nil, nil, err
	}
	var used []Entry
	var conflicts []Conflict
	add := func(e Entry) {
		for i := range used {
			if u := &used[i]; matches(u.Component, e.Component.Kind, e.Component.Name) {
				u.Hides = append(u.Hides, e.Plugin.Command())
				conflicts = append(conflicts, Conflict{e.Component.Kind, e.Component.Name, u.Plugin.Command(), e.Plugin.Command()})
				return
			}
		}
		used = append(used, e)
	}
	for _, e := range c.registered() {
		add(e)
	}
	for _, p := range plugins {
		for _, component := range p.Description.Components {
			add(Entry{Component: component, Plugin: p.Plugin})
		}
	}
	return used, conflicts, nil
}

// unresponsive returns the error of a process that should already run and does not answer, nil if there is
// none.
func unresponsive(plugins []DescribedPlugin) error {
	for _, p := range plugins {
		if p.Running != nil && p.Fault != nil {
			return p.Fault
		}
	}
	return nil
}

// Find returns the component with the name, or else the first with the alias. If there is none, the failure of kind
// provider_missing lists the existing components of the kind and the searched directories. If a broken plugin has
// exactly that name, its own error is returned.
func (c *Catalog) Find(ctx context.Context, kind sdk.Kind, name string) (Entry, error) {
	for _, e := range c.registered() {
		if matches(e.Component, kind, name) {
			return e, nil // without describing any plugin
		}
	}
	entries, _, err := c.Entries(ctx)
	if err != nil {
		return Entry{}, err
	}
	i := slices.IndexFunc(entries, func(e Entry) bool { return matches(e.Component, kind, name) })
	if i < 0 {
		i = slices.IndexFunc(entries, func(e Entry) bool { return hasAlias(e.Component, kind, name) })
	}
	if i < 0 {
		return Entry{}, c.missingError(entries, kind, name)
	}
	return entries[i], nil
}

func hasAlias(c sdk.Component, kind sdk.Kind, name string) bool {
	return c.Kind == kind && slices.Contains(c.Aliases, name)
}

func (c *Catalog) missingError(entries []Entry, kind sdk.Kind, name string) error {
	if f := c.LoadError(name); f != nil {
		return f
	}
	var broken []string
	for _, p := range c.describedPlugins() {
		if p.Fault == nil {
			continue
		}
		broken = append(broken, fmt.Sprintf("%s%s: %s", Prefix, p.Name, p.Fault.Message))
	}
	var exist []string
	for _, e := range entries {
		if e.Component.Kind == kind {
			exist = append(exist, e.Component.Name)
		}
	}
	slices.Sort(exist)
	word := strings.ReplaceAll(string(kind), "_", " ")
	f := failure.New(failure.ProviderMissing, "unknown %s: %s (%s)", word, strings.Trim(strconv.Quote(name), `"`), joinNames(exist, "none exists", "these exist: "))
	return f.WithHint("%s", c.missingHint(kind, name, exist)).WithDetail(strings.Join(broken, "\n"))
}

// LoadError returns why the described plugin with exactly this name cannot be used, nil if it can be used or does not
// exist.
func (c *Catalog) LoadError(name string) *failure.Error {
	for _, p := range c.describedPlugins() {
		if p.Name == name {
			return p.Fault
		}
	}
	return nil
}

func joinNames(names []string, none, some string) string {
	if len(names) == 0 {
		return none
	}
	return some + strings.Join(names, ", ")
}

func (c *Catalog) missingHint(kind sdk.Kind, name string, exist []string) string {
	var dirs []string
	for _, p := range c.cfg.Search.Searched {
		dirs = append(dirs, p.Dir)
	}
	advice := fmt.Sprintf("install agent-plugin-%s in one of the directories searched (%s); `%s` "+
		"shows the ignored files and the reasons", name, joinNames(dirs, "none", ""), failure.Next("plugins", "list"))
	if by, off := c.DisabledBy(kind, name); off {
		return fmt.Sprintf("this program bundles it, but bundled plugins are turned off by %s: remove that setting, or %s", by, advice)
	}
	if near := nearest.Name(name, exist); near != "" {
		return fmt.Sprintf("did you mean %q? Else %s", near, advice)
	}
	return advice
}

// DisabledBy returns the setting that disables the bundled plugin of a component.
func (c *Catalog) DisabledBy(kind sdk.Kind, name string) (by string, off bool) {
	for _, candidate := range c.cfg.Search.Off {
		if candidate.Describe == nil {
			if candidate.Name == name { // the best guess without starting it
				return c.cfg.Search.OffBy, true
			}
			continue
		}
		d, err := candidate.Describe()
		if err == nil && slices.ContainsFunc(d.Components, func(component sdk.Component) bool {
			return matches(component, kind, name) || hasAlias(component, kind, name)
		}) {
			return c.cfg.Search.OffBy, true
		}
	}
	return "", false
}

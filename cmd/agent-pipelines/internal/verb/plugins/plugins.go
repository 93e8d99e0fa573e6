package plugins

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/dodo-digital/agent-pipelines/cmd/agent-pipelines/internal/cli"
	"github.com/dodo-digital/agent-pipelines/cmd/agent-pipelines/internal/document"
	"github.com/dodo-digital/agent-pipelines/cmd/agent-pipelines/internal/screen"
	"github.com/dodo-digital/agent-pipelines/engine"
	"github.com/dodo-digital/agent-pipelines/kernel/pluginhost"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/nearest"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/serve"

	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
)

// Plugins is the verb `plugins` with its subcommands.
type Plugins struct {
	List    pluginsListVerb    `cmd:"" default:"1" help:"List plugins, ignored files and searched directories."`
	Info    pluginsInfoVerb    `cmd:"" help:"Show one plugin."`
	New     pluginsNewVerb     `cmd:"" help:"Write the module of a new plugin."`
	Install pluginsInstallVerb `cmd:"" help:"Install a plugin in your directory, and lock it."`
	Remove  pluginsRemoveVerb  `cmd:"" help:"Remove a plugin from your plugin directory."`
	Lock    pluginsLockVerb    `cmd:"" help:"Lock plugins to their current files, or check."`
	Verify  pluginsVerifyVerb  `cmd:"" help:"Check a plugin against the plugin protocol."`
}

// pluginsListVerb is the verb `plugins list`.
type pluginsListVerb struct{}

// pluginsInfoVerb is the verb `plugins info <name>`.
type pluginsInfoVerb struct {
	Name string `arg:"" complete:"plugin" help:"The name of a plugin or of one of its components."`
}

// Run implements [cli.Verb].
func (pluginsListVerb) Run(ctx context.Context, a *cli.App) error {
	return a.WithEngine(ctx, func(e *engine.Engine) error {
		listing, err := cli.ListPlugins(ctx, e)
		if err != nil {
			return err
		}
		all := document.Plugins{
			Plugins: []document.Plugin{}, Ignored: NonNil(listing.Ignored), Conflicts: NonNil(listing.Conflicts), Searched: NonNil(listing.Searched),
		}
		for _, p := range Reports(listing) {
			all.Plugins = append(all.Plugins, document.Plugin(p))
		}
		return a.Print(all, func(to io.Writer) { writePlugins(to, listing) })
	})
}

// Run implements [cli.Verb].
func (v *pluginsInfoVerb) Run(ctx context.Context, a *cli.App) error {
	return a.WithEngine(ctx, func(e *engine.Engine) error {
		listing, err := cli.ListPlugins(ctx, e)
		if err != nil {
			return err
		}
		all := Reports(listing)
		i := slices.IndexFunc(all, func(p cli.PluginReport) bool { return p.Name == v.Name })
		if i < 0 {
			i = slices.IndexFunc(all, func(p cli.PluginReport) bool { return p.Offers(v.Name) })
		}
		if i < 0 {
			return unknownPlugin(v.Name, all, listing)
		}
		return a.Print(document.Plugin(all[i]), func(to io.Writer) { cli.InfoPage{To: to, Width: a.Width()}.Plugin(all[i]) })
	})
}

// unknownPlugin returns the error for a name that no plugin and no component has. If a plugin of this name was ignored,
// the error says why.
func unknownPlugin(name string, all []cli.PluginReport, l pluginhost.Listing) error {
	var names []string
	for _, p := range all {
		names = append(names, p.Name)
		for _, c := range p.Components {
			names = append(append(names, c.Name), c.Aliases...)
		}
	}
	hint := fmt.Sprintf("`%s plugins list` shows what there is", cli.Program)
	for _, i := range l.Ignored {
		if strings.HasSuffix(i.Path, " plugin serve "+name) || strings.HasSuffix(i.Path, "/agent-plugin-"+name) {
			return cli.UsageError(fmt.Sprintf("there is no plugin '%s': %s is %s", name, i.Path, i.Reason), "%s", hint)
		}
	}
	if near := nearest.Name(name, names); near != "" {
		hint = fmt.Sprintf("did you mean '%s'? %s", near, hint)
	}
	return cli.UsageError(fmt.Sprintf("there is no plugin '%s'", name), "%s", hint)
}

// NonNil returns a copy of items that is never nil, so that JSON has an empty list instead of null.
func NonNil[T any](items []T) []T { return append([]T{}, items...) }

// Reports returns all plugins; the first one holds the built-in components.
func Reports(l pluginhost.Listing) []cli.PluginReport {
	all := []cli.PluginReport{{Name: "built-in", Source: "the kernel", Version: cli.Version, Components: l.Registered}}
	for _, p := range l.Plugins {
		r := cli.PluginReport{
			Name: p.Name, Version: p.Description.Version, Path: p.Path, Source: string(p.Source), SHA256: p.SHA256,
			Locked: string(p.Standing.Locked), Lock: p.Standing.Lock, Expected: p.Standing.SHA256,
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

func writePlugins(to io.Writer, l pluginhost.Listing) {
	all, wide := Reports(l), 0
	for _, p := range all {
		for _, c := range p.Components {
			wide = max(wide, len(componentName(c)))
		}
	}
	for _, p := range all {
		words := slices.DeleteFunc([]string{p.Version, p.LockState(), p.Location()}, func(s string) bool { return s == "" })
		fmt.Fprintf(to, "%s %s\n", p.Name, strings.Join(words, "  "))
		writeComponents(to, p, wide)
	}
	for _, c := range l.Conflicts {
		fmt.Fprintf(to, "hidden: %s %s of %s, by that of %s\n", cli.KindName(c.Kind), c.Name, c.Hidden, cmp.Or(c.Used, "the kernel"))
	}
	for _, i := range l.Ignored {
		fmt.Fprintf(to, "ignored: %s is %s\n", i.Path, i.Reason)
	}
	for _, p := range l.Searched {
		fmt.Fprintf(to, "searched: %s (%s)\n", p.Dir, p.Source)
	}
}

// writeComponents writes a plugin's components, with their names in a column of the width wide.
func writeComponents(to io.Writer, p cli.PluginReport, wide int) {
	if p.Fault != nil {
		fmt.Fprintf(to, "  unusable: %s\n", p.Fault.Message)
	}
	for _, c := range p.Components {
		fmt.Fprintf(to, "  %-12s %-*s %s\n", cli.KindName(c.Kind), wide, componentName(c), screen.Clean(c.Summary))
	}
}

// componentName returns a component's name with its aliases.
func componentName(c sdk.Component) string {
	if len(c.Aliases) == 0 {
		return c.Name
	}
	return c.Name + " (" + strings.Join(c.Aliases, ", ") + ")"
}

// Plugin is the hidden verb `plugin` with its subcommands serve and host. The command starts it as a child process.
type Plugin struct {
	Serve serveVerb      `cmd:"" help:"Serve a bundled plugin (started by the command itself)."`
	Host  pluginHostVerb `cmd:"" help:"Host a plugin (started by plugins verify)."`
}

// serveVerb is the hidden verb `plugin serve <name>`.
type serveVerb struct {
	Name string   `arg:"" help:"The plugin's name."`
	Args []string `arg:"" optional:"" help:"Arguments of the plugin's own binary: describe, version, help."`
}

// Run implements [cli.Verb].
func (v *serveVerb) Run(_ context.Context, a *cli.App) error {
	names := make([]string, 0, len(a.Bundled))
	for _, b := range a.Bundled {
		if b.Name == v.Name {
			a.Code = cli.Exit(serve.Run(b.Plugin(cli.CurrentBuild().Version), v.Args))
			return nil
		}
		names = append(names, b.Name)
	}
	return cli.UsageError(fmt.Sprintf("the command carries no plugin '%s'", v.Name), "it carries %s", strings.Join(names, ", "))
}

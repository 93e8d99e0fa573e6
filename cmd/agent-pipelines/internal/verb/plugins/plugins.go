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
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/serve"
)

// Plugins is the verb `plugins` with its subcommands.
type Plugins struct {
	List    pluginsListVerb    `cmd:"" default:"1" help:"List plugins, ignored files and searched directories."`
	Info    pluginsInfoVerb    `cmd:"" help:"Show one plugin."`
	New     pluginsNewVerb     `cmd:"" help:"Write the module of a new plugin."`
	Install pluginsInstallVerb `cmd:"" help:"Install and lock a plugin in your directory."`
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
	return cli.Show(ctx, a, func(e *engine.Engine) (document.Plugins, error) {
		l, err := cli.ListPlugins(ctx, e)
		return document.Plugins{Plugins: Reports(l), Ignored: NonNil(l.Ignored), Conflicts: NonNil(l.Conflicts), Searched: NonNil(l.Searched)}, err
	}, writePlugins)
}

// Run implements [cli.Verb].
func (v *pluginsInfoVerb) Run(ctx context.Context, a *cli.App) error {
	return a.WithEngine(ctx, func(e *engine.Engine) error {
		listing, err := cli.ListPlugins(ctx, e)
		if err != nil {
			return err
		}
		all := Reports(listing)
		i := slices.IndexFunc(all, func(p document.Plugin) bool { return p.Name == v.Name })
		if i < 0 {
			i = slices.IndexFunc(all, func(p document.Plugin) bool { return p.Offers(v.Name) })
		}
		if i < 0 {
			return unknownPlugin(v.Name, all, listing)
		}
		return a.Print(all[i], func(to io.Writer) { cli.InfoPage{To: to, Width: a.Width()}.Plugin(all[i]) })
	})
}

func writePlugins(to io.Writer, l document.Plugins) {
	wide := 0
	for _, p := range l.Plugins {
		for _, c := range p.Components {
			wide = max(wide, len(componentName(c)))
		}
	}
	for _, p := range l.Plugins {
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
func writeComponents(to io.Writer, p document.Plugin, wide int) {
	if p.Fault != nil {
		fmt.Fprintf(to, "  unusable: %s\n", screen.Clean(p.Fault.Message))
	}
	for _, c := range p.Components {
		fmt.Fprintf(to, "  %-12s %-*s %s\n", cli.KindName(c.Kind), wide, componentName(c), screen.Clean(c.Summary))
	}
}

// Plugin is the hidden verb `plugin` with its subcommands serve and host. The command starts it as a child process.
type Plugin struct {
	Serve serveVerb      `cmd:"" help:"Serve a bundled plugin (started by the command itself)."`
	Host  pluginHostVerb `cmd:"" help:"Host a plugin (started by plugins verify)."`
}

// Serve serves a bundled plugin for the arguments of [cli.ServeArguments] and returns its exit code. Main calls it before
// the grammar is built, which would take a third of the start of each plugin process. served is false for other arguments,
// and for a name that no bundled plugin has, which [serveVerb] reports.
func Serve(bundled []cli.BundledPlugin, args []string) (code int, served bool) {
	for _, b := range bundled {
		prefix := cli.ServeArguments(b.Name)
		if len(args) >= len(prefix) && slices.Equal(args[:len(prefix)], prefix) {
			return serve.Run(b.Plugin(cli.CurrentBuild().Version), args[len(prefix):]), true
		}
	}
	return 0, false
}

// serveVerb is the hidden verb `plugin serve <name>` for a name that no bundled plugin has.
type serveVerb struct {
	Name string   `arg:"" help:"The plugin's name."`
	Args []string `arg:"" optional:"" help:"Arguments of the plugin's own binary: describe, version, help."`
}

// Run implements [cli.Verb].
func (v *serveVerb) Run(_ context.Context, a *cli.App) error {
	names := make([]string, len(a.Bundled))
	for i, b := range a.Bundled {
		names[i] = b.Name
	}
	return cli.UsageError(fmt.Sprintf("the command has no bundled plugin '%s'", v.Name), "it carries %s", strings.Join(names, ", "))
}

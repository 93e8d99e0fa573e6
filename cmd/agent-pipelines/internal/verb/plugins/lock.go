package plugins

import (
	"context"
	"fmt"
	"io"
	"slices"

	"github.com/dodo-digital/agent-pipelines/cmd/agent-pipelines/internal/cli"
	"github.com/dodo-digital/agent-pipelines/engine"
	"github.com/dodo-digital/agent-pipelines/kernel/pluginhost"
)

// pluginsLockVerb is the verb `plugins lock [name]...`.
type pluginsLockVerb struct {
	Names   []string `arg:"" optional:"" name:"name" complete:"plugin" help:"The plugins to lock (default all except bundled ones)."`
	Check   bool     `help:"Write nothing; fail if a plugin differs from its lock, or a named one is not locked."`
	Project bool     `help:"Lock in the project's .claude/plugins.lock, which applies to all its users, instead of your own."`
}

// Run implements [cli.Verb].
func (v *pluginsLockVerb) Run(ctx context.Context, a *cli.App) error {
	return cli.Show(ctx, a, func(e *engine.Engine) (pluginhost.LockReport, error) {
		return e.PluginHost().Lock(pluginhost.LockRequest{Names: v.Names, Project: v.Project, Check: v.Check})
	}, v.write)
}

// write writes the lock status of each plugin, or the changes.
func (v *pluginsLockVerb) write(to io.Writer, r pluginhost.LockReport) {
	for _, p := range r.Plugins {
		switch {
		case !p.Changed():
			fmt.Fprintf(to, "As locked: %s %s (%s)\n", p.Name, p.SHA256, p.Path)
		case v.Check:
			fmt.Fprintf(to, "Not locked: %s %s (%s)\n", p.Name, p.SHA256, p.Path)
		case p.Before == "":
			fmt.Fprintf(to, "Locked: %s %s (%s)\n", p.Name, p.SHA256, p.Path)
		default:
			fmt.Fprintf(to, "Locked again: %s %s, was %s (%s)\n", p.Name, p.SHA256, p.Before, p.Path)
		}
	}
	for _, name := range r.Missing {
		fmt.Fprintf(to, "Not found: %s, which is locked\n", name)
	}
	switch {
	case len(r.Plugins) == 0:
		fmt.Fprintf(to, "There is no plugin to lock; name a bundled plugin to lock it.\n")
	case v.Check || !slices.ContainsFunc(r.Plugins, pluginhost.LockEntry.Changed):
		fmt.Fprintf(to, "Nothing was written to %s.\n", r.Lock)
	default:
		fmt.Fprintf(to, "Wrote %s for %s.\n", r.Lock, r.Platform)
	}
}

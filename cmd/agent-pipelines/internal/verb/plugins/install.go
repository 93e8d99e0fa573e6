package plugins

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"path"
	"strings"

	"github.com/dodo-digital/agent-pipelines/cmd/agent-pipelines/internal/cli"
	"github.com/dodo-digital/agent-pipelines/cmd/agent-pipelines/internal/install"
	"github.com/dodo-digital/agent-pipelines/cmd/agent-pipelines/internal/screen"
	"github.com/dodo-digital/agent-pipelines/engine"
)

// pluginsInstallVerb is the verb `plugins install <binary|archive>`.
type pluginsInstallVerb struct {
	File   string `arg:"" help:"A plugin's binary, or a .tar.gz or .tgz archive with one."`
	SHA256 string `name:"sha256" placeholder:"HEX" help:"Refuse a file with another SHA-256."`
	Force  bool   `help:"Replace another plugin or version of the same name."`
}

// Run implements [cli.Verb].
func (v *pluginsInstallVerb) Run(ctx context.Context, a *cli.App) error {
	if strings.Contains(v.File, "://") {
		return cli.UsageError("plugins install does not download: "+v.File,
			"download it first: `curl -fLO %s`, then `%s plugins install %s --sha256 <published by its author>`", v.File, cli.Program, path.Base(v.File))
	}
	if _, err := os.Stat(v.File); err != nil {
		return cli.UsageError(fmt.Sprintf("there is no file %s", v.File), "give the path of a plugin's binary or archive")
	}
	ctx, stop := cli.UntilSignal(ctx)
	defer stop()
	return cli.Show(ctx, a, func(e *engine.Engine) (install.Installation, error) {
		return install.Plugin(ctx, e.PluginHost(), install.Request{File: v.File, SHA256: v.SHA256, Force: v.Force})
	}, writeInstalled)
}

func writeInstalled(to io.Writer, done install.Installation) {
	switch old := done.Replaced; {
	case done.Unchanged:
		fmt.Fprintf(to, "The very same file is installed already: %s %s in %s\n", done.Name, done.Version, done.Path)
	case old != nil:
		fmt.Fprintf(to, "Installed %s %s in %s, in place of version %s\n", done.Name, done.Version, done.Path, cmp.Or(old.Version, "unknown"))
	default:
		fmt.Fprintf(to, "Installed %s %s in %s\n", done.Name, done.Version, done.Path)
	}
	for _, c := range done.Components {
		fmt.Fprintf(to, "  %s %s: %s\n", cli.KindName(c.Kind), componentName(c), cmp.Or(screen.Clean(c.Summary), "no summary"))
	}
	fmt.Fprintf(to, "Locked in %s: sha256 %s\n", done.Lock, done.SHA256)
	if done.Shadows != "" {
		fmt.Fprintf(to, "It is used in place of %s\n", done.Shadows)
	}
	if done.ShadowedBy != "" {
		fmt.Fprintf(to, "It is not used while %s exists, which is found first\n", done.ShadowedBy)
	}
}

// pluginsRemoveVerb is the verb `plugins remove <name>`.
type pluginsRemoveVerb struct {
	Name string `arg:"" complete:"plugin" help:"The name of a plugin in your plugin directory."`
}

// Run implements [cli.Verb].
func (v *pluginsRemoveVerb) Run(ctx context.Context, a *cli.App) error {
	return cli.Show(ctx, a, func(e *engine.Engine) (install.Removal, error) {
		return install.RemovePlugin(ctx, e.PluginHost(), v.Name)
	}, func(to io.Writer, r install.Removal) {
		switch {
		case r.Path == "":
			fmt.Fprintf(to, "Removed the entry of %s from plugins.lock; its file was gone already\n", r.Name)
		case r.Unlocked:
			fmt.Fprintf(to, "Removed %s, and its entry from plugins.lock\n", r.Path)
		default:
			fmt.Fprintf(to, "Removed %s\n", r.Path)
		}
	})
}

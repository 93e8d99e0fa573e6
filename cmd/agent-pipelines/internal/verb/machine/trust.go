package machine

import (
	"context"
	"fmt"
	"io"
	"os"

	"github.com/dodo-digital/agent-pipelines/cmd/agent-pipelines/internal/cli"
	"github.com/dodo-digital/agent-pipelines/cmd/agent-pipelines/internal/document"
	"github.com/dodo-digital/agent-pipelines/cmd/agent-pipelines/internal/verb/plugins"
	"github.com/dodo-digital/agent-pipelines/engine"
)

// Trust is the verb `trust <dir>`, `trust --list` and `trust --remove <dir>`.
type Trust struct {
	Dir    string `arg:"" optional:"" type:"path" help:"The directory, such as a project with its own plugins or settings."`
	List   bool   `help:"List the trusted directories."`
	Remove bool   `help:"Stop trusting the directory."`
}

// Run implements [cli.Verb].
func (v *Trust) Run(ctx context.Context, a *cli.App) error {
	switch {
	case v.List && (v.Remove || v.Dir != ""):
		return cli.UsageError("--list takes no directory and no other flag", "`%s trust --list` shows the directories that you trust", cli.Program)
	case v.List:
		return v.list(ctx, a)
	case v.Dir == "":
		return cli.UsageError("which directory?", "give its path, or --list to see which you trust")
	case v.Remove:
		return v.remove(ctx, a)
	default:
		return v.add(ctx, a)
	}
}

func (v *Trust) add(ctx context.Context, a *cli.App) error {
	if info, err := os.Stat(v.Dir); err != nil || !info.IsDir() {
		return cli.UsageError(fmt.Sprintf("%s is not a directory", v.Dir), "give the path of a directory that exists")
	}
	return cli.Show(ctx, a, func(e *engine.Engine) (document.Trust, error) {
		return document.Trust{Trusted: v.Dir}, e.PluginHost().Trust(v.Dir)
	}, func(to io.Writer, _ document.Trust) {
		fmt.Fprintf(to, "Plugins and all settings in %s and below may be used from now on.\n", v.Dir)
	})
}

func (v *Trust) list(ctx context.Context, a *cli.App) error {
	return cli.Show(ctx, a, func(e *engine.Engine) (document.Trust, error) {
		dirs, err := e.PluginHost().UserStore().Trusted()
		return document.Trust{Directories: plugins.NonNil(dirs)}, err
	}, func(to io.Writer, trust document.Trust) {
		for _, dir := range trust.Directories {
			fmt.Fprintln(to, dir)
		}
		if len(trust.Directories) == 0 {
			fmt.Fprintln(to, "You trust no directory.")
		}
	})
}

func (v *Trust) remove(ctx context.Context, a *cli.App) error {
	return cli.Show(ctx, a, func(e *engine.Engine) (document.Trust, error) {
		was, err := e.PluginHost().UserStore().Distrust(v.Dir)
		if err == nil && !was {
			err = cli.UsageError(fmt.Sprintf("%s is not in your list of trusted directories", v.Dir),
				"`%s trust --list` shows the list; directories below a trusted one are trusted, too", cli.Program)
		}
		return document.Trust{Removed: v.Dir}, err
	}, func(to io.Writer, _ document.Trust) { fmt.Fprintf(to, "%s is no longer trusted.\n", v.Dir) })
}

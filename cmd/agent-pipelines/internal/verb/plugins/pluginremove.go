package plugins

import (
	"context"
	"fmt"

	"github.com/dodo-digital/agent-pipelines/cmd/agent-pipelines/internal/cli"
	"github.com/dodo-digital/agent-pipelines/engine"
)

// pluginsRemoveVerb is `plugins remove <name>`.
type pluginsRemoveVerb struct {
	Name string `arg:"" complete:"plugin" help:"The plugin's name. It must lie in your own plugin directory."`
}

func (v *pluginsRemoveVerb) Run(ctx context.Context, a *cli.App) error {
	return a.Use(ctx, func(e *engine.Engine) error {
		r, err := e.RemovePlugin(ctx, v.Name)
		if err != nil {
			return err
		}
		switch {
		case a.JSON:
			a.Document(r)
		case r.Path == "":
			fmt.Fprintf(a.Stdout, "Removed the entry of %s from plugins.lock; its file was gone already\n", r.Name)
		case r.Unlocked:
			fmt.Fprintf(a.Stdout, "Removed %s, and its entry from plugins.lock\n", r.Path)
		default:
			fmt.Fprintf(a.Stdout, "Removed %s\n", r.Path)
		}
		return nil
	})
}

package main

import (
	"context"
	"fmt"

	"github.com/dodo-digital/agent-pipelines/engine"
)

// pluginsRemoveVerb is `plugins remove <name>`.
type pluginsRemoveVerb struct {
	Name string `arg:"" complete:"plugin" help:"The plugin's name. It must lie in your own plugin directory."`
}

func (v *pluginsRemoveVerb) run(ctx context.Context, a *app) error {
	return a.use(ctx, func(e *engine.Engine) error {
		r, err := e.RemovePlugin(ctx, v.Name)
		if err != nil {
			return err
		}
		switch {
		case a.JSON:
			a.document(r)
		case r.Path == "":
			fmt.Fprintf(a.stdout, "Removed the entry of %s from plugins.lock; its file was gone already\n", r.Name)
		case r.Unlocked:
			fmt.Fprintf(a.stdout, "Removed %s, and its entry from plugins.lock\n", r.Path)
		default:
			fmt.Fprintf(a.stdout, "Removed %s\n", r.Path)
		}
		return nil
	})
}

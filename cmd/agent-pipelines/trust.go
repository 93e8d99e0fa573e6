package main

import (
	"context"
	"fmt"
	"os"

	"github.com/dodo-digital/agent-pipelines/cmd/agent-pipelines/internal/document"
	"github.com/dodo-digital/agent-pipelines/engine"
)

// trustVerb is `trust <dir>`, `trust --list` and `trust --remove <dir>`.
type trustVerb struct {
	Dir    string `arg:"" optional:"" type:"path" help:"The directory, for instance a project that brings its own plugins or settings."`
	List   bool   `help:"Show the directories that you trust."`
	Remove bool   `help:"Take the trust in the directory back."`
}

func (v *trustVerb) run(ctx context.Context, a *app) error {
	switch {
	case v.List && (v.Remove || v.Dir != ""):
		return usageError("--list stands alone", "`%s trust --list` shows the directories that you trust", program)
	case v.List:
		return v.list(ctx, a)
	case v.Dir == "":
		return usageError("which directory?", "give its path, or --list to see which you trust")
	case v.Remove:
		return v.remove(ctx, a)
	default:
		return v.add(ctx, a)
	}
}

func (v *trustVerb) add(ctx context.Context, a *app) error {
	if info, err := os.Stat(v.Dir); err != nil || !info.IsDir() {
		return usageError(fmt.Sprintf("%s is no directory", v.Dir), "give the path of a directory that exists")
	}
	if err := a.use(ctx, func(e *engine.Engine) error { return e.Trust(v.Dir) }); err != nil {
		return err
	}
	if a.JSON {
		a.document(document.Trust{Trusted: v.Dir})
		return nil
	}
	fmt.Fprintf(a.stdout, "Plugins and all settings in %s and below may be used from now on.\n", v.Dir)
	return nil
}

func (v *trustVerb) list(ctx context.Context, a *app) error {
	var dirs []string
	err := a.use(ctx, func(e *engine.Engine) (err error) { dirs, err = e.Trusted(); return err })
	if err != nil {
		return err
	}
	if a.JSON {
		a.document(document.Trust{Directories: list(dirs)})
		return nil
	}
	for _, dir := range dirs {
		fmt.Fprintln(a.stdout, dir)
	}
	if len(dirs) == 0 {
		fmt.Fprintln(a.stdout, "You trust no directory.")
	}
	return nil
}

func (v *trustVerb) remove(ctx context.Context, a *app) error {
	was := false
	err := a.use(ctx, func(e *engine.Engine) (err error) { was, err = e.Distrust(v.Dir); return err })
	if err != nil {
		return err
	}
	if !was {
		return usageError(fmt.Sprintf("you did not say that you trust %s", v.Dir),
			"`%s trust --list` shows what you trust; what lies below one of these is trusted with it", program)
	}
	if a.JSON {
		a.document(document.Trust{Removed: v.Dir})
		return nil
	}
	fmt.Fprintf(a.stdout, "%s is no longer trusted.\n", v.Dir)
	return nil
}

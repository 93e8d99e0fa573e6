package main

import (
	"context"
	"fmt"
	"os"

	"github.com/dodo-digital/agent-pipelines/kernel"
)

// trustVerb is `trust <dir>`.
type trustVerb struct {
	Dir string `arg:"" type:"path" help:"The directory, for instance a project that brings its own plugins or settings."`
}

func (v *trustVerb) run(ctx context.Context, a *app) error {
	if info, err := os.Stat(v.Dir); err != nil || !info.IsDir() {
		return usageError(fmt.Sprintf("%s is no directory", v.Dir), "give the path of a directory that exists")
	}
	if err := a.use(ctx, func(e *kernel.Engine) error { return e.Trust(v.Dir) }); err != nil {
		return err
	}
	if a.JSON {
		printJSON(a.stdout, map[string]string{"trusted": v.Dir})
		return nil
	}
	fmt.Fprintf(a.stdout, "Plugins and all settings in %s and below may be used from now on.\n", v.Dir)
	return nil
}

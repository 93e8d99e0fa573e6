package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/dodo-digital/agent-pipelines/cmd/agent-pipelines/internal/screen"
	"github.com/dodo-digital/agent-pipelines/kernel"
)

// schemaVerb is `schema print`.
type schemaVerb struct {
	Print schemaPrintVerb `cmd:"" help:"Print the JSON Schema of pipelines, of stage.yaml or of config.yaml."`
}

// Help is shown below the usage.
func (*schemaVerb) Help() string {
	return `Examples:
  agent-pipelines schema print pipeline
  agent-pipelines schema print stage --output .claude/schema/stage.json`
}

// schemaPrintVerb is `schema print <file>`.
type schemaPrintVerb struct {
	File      string `arg:"" name:"file" enum:"pipeline,stage,config" help:"pipeline, stage or config."`
	Output    string `type:"path" placeholder:"FILE" help:"Write it to this file, and say what line lets an editor use it."`
	NoPlugins bool   `help:"Without the settings of plugins: the same wherever it is printed, as published."`
}

// Help is shown below the usage.
func (*schemaPrintVerb) Help() string {
	return `An editor with a YAML language server then completes keys and words, shows what they mean,
and underlines what the command would refuse. The settings of the plugins that are found are
part of it: of providers in config.yaml, of strategies and hook actions in pipelines.

Examples:
  agent-pipelines schema print pipeline
  agent-pipelines schema print pipeline --output .claude/schema/pipeline.json
  agent-pipelines schema print config --no-plugins`
}

func (v *schemaPrintVerb) run(ctx context.Context, a *app) error {
	text, err := v.text(ctx, a)
	if err != nil {
		return err
	}
	if v.Output == "" {
		_, err := a.stdout.Write(text)
		return err
	}
	if err := os.MkdirAll(filepath.Dir(v.Output), 0o755); err != nil {
		return err
	}
	if err := os.WriteFile(v.Output, text, 0o644); err != nil { //nolint:gosec // a schema is for everybody
		return err
	}
	if a.JSON {
		printJSON(a.stdout, struct {
			File    string `json:"file"`
			Written string `json:"written"`
		}{v.File, v.Output})
		return nil
	}
	fmt.Fprintf(a.stdout, "Wrote %s. The first line of a file lets an editor use it, with the path from the file's own folder:\n  # yaml-language-server: $schema=%s\n",
		screen.Clean(v.Output), screen.Clean(filepath.Base(v.Output)))
	return nil
}

func (v *schemaPrintVerb) text(ctx context.Context, a *app) (text []byte, err error) {
	if v.NoPlugins {
		return kernel.DialectSchema(v.File)
	}
	err = a.use(ctx, func(e *kernel.Engine) error {
		var leftOut []string
		if text, leftOut, err = e.DialectSchema(ctx, v.File); len(leftOut) > 0 {
			fmt.Fprintf(a.stderr, "Left out, since it is no JSON Schema: what is said of the settings of %s.\n", screen.Clean(strings.Join(leftOut, ", ")))
		}
		return err
	})
	return text, err
}

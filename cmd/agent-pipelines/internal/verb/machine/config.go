package machine

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/dodo-digital/agent-pipelines/cmd/agent-pipelines/internal/cli"
	"github.com/dodo-digital/agent-pipelines/cmd/agent-pipelines/internal/document"
	"github.com/dodo-digital/agent-pipelines/cmd/agent-pipelines/internal/screen"
	"github.com/dodo-digital/agent-pipelines/cmd/agent-pipelines/internal/verb/plugins"
	"github.com/dodo-digital/agent-pipelines/engine"
	"github.com/dodo-digital/agent-pipelines/engine/authoring"
)

// Config is the verb `config` with its subcommands show, get and set.
type Config struct {
	Show configShowVerb `cmd:"" default:"withargs" help:"Show the settings and their files."`
	Get  configGetVerb  `cmd:"" help:"Print one setting."`
	Set  configSetVerb  `cmd:"" help:"Change one setting in a config.yaml."`
}

// configShowVerb is the verb `config show`.
type configShowVerb struct {
	Origin bool `help:"Show the settings of every file, including overridden ones."`
}

// Run implements [cli.Verb].
func (v *configShowVerb) Run(ctx context.Context, a *cli.App) error {
	return a.WithEngine(ctx, func(e *engine.Engine) error {
		s, err := e.Authoring().Settings(ctx)
		if err != nil {
			return err
		}
		if v.Origin {
			return showOrigins(ctx, a, e, s)
		}
		return a.Print(s, func(to io.Writer) {
			cli.WriteDiagnostics(a.Stderr, s.Warnings)
			writeConfig(to, s)
		})
	})
}

// valueWidth is the maximum width of a value in a table, in columns.
const valueWidth = 60

// writeConfig writes the settings as a table.
func writeConfig(to io.Writer, s *authoring.Settings) {
	if len(s.Settings) == 0 {
		writeNoConfig(to, s)
		return
	}
	table := cli.NewTable(to, "KEY\tVALUE\tFROM")
	for _, row := range s.Settings {
		fmt.Fprintf(table, "%s\t%s\t%s\n", screen.Clean(row.Key), screen.Cut(screen.Clean(row.Value), valueWidth), screen.Clean(row.From))
	}
	table.End()
}

func writeNoConfig(to io.Writer, s *authoring.Settings) {
	fmt.Fprintf(to, "Nothing is set. Settings are read from %s and %s.\n", s.ProjectFile, s.UserFile)
}

// showOrigins prints the settings of every file.
func showOrigins(ctx context.Context, a *cli.App, e *engine.Engine, s *authoring.Settings) error {
	all, err := e.Authoring().SettingOrigins(ctx)
	if err != nil {
		return err
	}
	origins := document.Origins{ProjectFile: s.ProjectFile, UserFile: s.UserFile, Settings: plugins.NonNil(all), Warnings: s.Warnings}
	return a.Print(origins, func(to io.Writer) {
		cli.WriteDiagnostics(a.Stderr, s.Warnings)
		if len(all) == 0 {
			writeNoConfig(to, s)
			return
		}
		table := cli.NewTable(to, "KEY\tVALUE\tLAYER\tHOLDS\tFROM")
		for _, row := range all {
			fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\n",
				screen.Clean(row.Key), screen.Cut(screen.Clean(row.Value), valueWidth), row.Layer, cli.YesNo(row.Effective), screen.Clean(row.From))
		}
		table.End()
	})
}

// configGetVerb is the verb `config get <key>`.
type configGetVerb struct {
	Key string `arg:"" help:"The setting, such as defaults.provider."`
}

// Run implements [cli.Verb].
func (v *configGetVerb) Run(ctx context.Context, a *cli.App) error {
	return cli.Show(ctx, a, func(e *engine.Engine) (row authoring.Setting, err error) {
		s, err := e.Authoring().Settings(ctx)
		if err != nil {
			return row, err
		}
		i := slices.IndexFunc(s.Settings, func(row authoring.Setting) bool { return row.Key == v.Key })
		if i < 0 {
			return row, unsetError(s, v.Key)
		}
		return s.Settings[i], nil
	}, func(to io.Writer, row authoring.Setting) {
		fmt.Fprintln(to, strings.Join(screen.Lines(row.Value), "\n"))
	})
}

// unsetError returns the error for a setting without a value.
func unsetError(s *authoring.Settings, key string) error {
	within := slices.ContainsFunc(s.Settings, func(row authoring.Setting) bool { return strings.HasPrefix(row.Key, key+".") })
	if err := authoring.CheckSetting(key); err != nil && !within {
		return err
	} else if within {
		return cli.UsageError(key+" has several settings below it", "`%s config show` lists them", cli.Program)
	}
	return fmt.Errorf("neither %s nor %s sets %s: %w", s.ProjectFile, s.UserFile, key, cli.ErrNotSet)
}

// configSetVerb is the verb `config set <key> <value>`.
type configSetVerb struct {
	Key     string `arg:"" help:"The setting, such as defaults.provider."`
	Value   string `arg:"" help:"The value: a text, a number, or YAML such as '{mode: strict}'."`
	Project bool   `help:"Change the project's .claude/config.yaml instead of your own."`
}

// Run implements [cli.Verb].
func (v *configSetVerb) Run(ctx context.Context, a *cli.App) error {
	layer := authoring.LayerUser
	if v.Project {
		layer = authoring.LayerProject
	}
	err := a.WithEngine(ctx, func(e *engine.Engine) error {
		warnings, err := e.Authoring().SetSetting(ctx, layer, v.Key, v.Value)
		if err == nil && !a.JSON {
			cli.WriteDiagnostics(a.Stderr, warnings)
		}
		return err
	})
	if err != nil {
		return err
	}
	return a.WithEngine(ctx, func(e *engine.Engine) error { // a new engine reads the changed files
		all, err := e.Authoring().SettingOrigins(ctx)
		if err != nil {
			return err
		}
		return reportSet(a, v.Key, layer, all)
	})
}

// reportSet prints the new value, and the effective value if another file overrides it.
func reportSet(a *cli.App, key string, layer authoring.Layer, all []authoring.SettingOrigin) error {
	var set, over *authoring.SettingOrigin
	for i := range all {
		switch row := &all[i]; {
		case row.Key != key && !strings.HasPrefix(key, row.Key+"."):
		case row.Layer == layer:
			set = row
		case row.Effective:
			over = row
		}
	}
	return a.Print(document.SettingChange{Key: key, Set: set, Holds: over}, func(to io.Writer) {
		if set == nil {
			fmt.Fprintf(to, "%s is set.\n", key)
			return
		}
		fmt.Fprintf(to, "%s is %s (%s)\n", set.Key, screen.Clean(set.Value), screen.Clean(set.From))
		if !set.Effective && over != nil {
			fmt.Fprintf(to, "Another file overrides it here: %s is %s (%s)\n", over.Key, screen.Clean(over.Value), screen.Clean(over.From))
		}
	})
}

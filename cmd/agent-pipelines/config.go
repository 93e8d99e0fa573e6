package main

import (
	"context"
	"fmt"
	"io"
	"text/tabwriter"

	"github.com/dodo-digital/agent-pipelines/cmd/agent-pipelines/internal/screen"
	"github.com/dodo-digital/agent-pipelines/kernel"
)

// configVerb is `config`.
type configVerb struct{}

func (configVerb) run(ctx context.Context, a *app) error {
	return a.use(ctx, func(e *kernel.Engine) error {
		s, err := e.Settings(ctx)
		if err != nil {
			return err
		}
		if a.JSON {
			printJSON(a.stdout, s)
			return nil
		}
		writeDiagnostics(a.stderr, s.Warnings)
		return writeConfig(a.stdout, s)
	})
}

// valueWidth is how much of a setting's text is shown, in columns.
const valueWidth = 60

// writeConfig writes the settings for people.
func writeConfig(to io.Writer, s *kernel.Settings) error {
	if len(s.Settings) == 0 {
		fmt.Fprintf(to, "Nothing is set. Settings are read from %s and %s.\n", s.ProjectFile, s.UserFile)
		return nil
	}
	table := tabwriter.NewWriter(to, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "KEY\tVALUE\tFROM")
	for _, row := range s.Settings {
		fmt.Fprintf(table, "%s\t%s\t%s\n", screen.Clean(row.Key), screen.Cut(screen.Clean(row.Value), valueWidth), screen.Clean(row.From))
	}
	return table.Flush()
}

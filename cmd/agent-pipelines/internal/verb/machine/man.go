package machine

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"

	"github.com/dodo-digital/agent-pipelines/cmd/agent-pipelines/internal/cli"
	"github.com/dodo-digital/agent-pipelines/cmd/agent-pipelines/internal/manual"
)

// Man is the hidden verb `man-pages <dir>`, which `make install` calls.
type Man struct {
	Dir string `arg:"" type:"path" help:"The directory, created if missing, such as ~/.local/share/man/man1."`
}

// Run implements [cli.Verb].
func (v *Man) Run(_ context.Context, a *cli.App) error {
	if err := os.MkdirAll(v.Dir, 0o755); err != nil {
		return err
	}
	for _, p := range Manual(a) {
		if err := os.WriteFile(filepath.Join(v.Dir, p.File), []byte(p.Text), 0o644); err != nil { //nolint:gosec // a manual is public
			return fmt.Errorf("write the manual: %w", err)
		}
	}
	return nil
}

// Manual returns the pages of the manual.
func Manual(a *cli.App) []manual.Page {
	codes := manual.Section{Heading: "EXIT STATUS"}
	for _, row := range cli.Exits {
		codes.Rows = append(codes.Rows, manual.Row{Term: strconv.Itoa(int(row.Code)), Meaning: row.When})
	}
	variables := manual.Section{Heading: "ENVIRONMENT"}
	for _, row := range Environment {
		variables.Rows = append(variables.Rows, manual.Row{Term: row.Name, Meaning: row.Meaning})
	}
	return manual.Pages(a.Parser().Model.Node, manual.Options{
		Program: cli.Program, About: "run pipelines of coding agents, durably", Version: cli.CurrentBuild().Version,
		Forms:    []string{"<stage> [<session> [<max>]] [flags]"},
		Sections: []manual.Section{codes, variables},
		See: []string{
			cli.Program + " help <verb> prints the text of these pages, and " + cli.Program + " explain <code> the meaning of a code.",
			"The documentation: https://github.com/dodo-digital/agent-pipelines/tree/main/docs",
		},
	})
}

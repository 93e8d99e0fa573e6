package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"

	"github.com/dodo-digital/agent-pipelines/cmd/agent-pipelines/internal/manual"
)

// manVerb is `man-pages <dir>`, which `make install` calls.
type manVerb struct {
	Dir string `arg:"" type:"path" help:"The directory, such as ~/.local/share/man/man1. It is made if it is not there."`
}

func (v *manVerb) run(_ context.Context, a *app) error {
	if err := os.MkdirAll(v.Dir, 0o755); err != nil {
		return err
	}
	for _, p := range a.manual() {
		if err := os.WriteFile(filepath.Join(v.Dir, p.File), []byte(p.Text), 0o644); err != nil { //nolint:gosec // a manual is for everybody
			return fmt.Errorf("write the manual: %w", err)
		}
	}
	return nil
}

// manual are the pages of the manual.
func (a *app) manual() []manual.Page {
	codes := manual.Section{Heading: "EXIT STATUS"}
	for _, row := range exits {
		codes.Rows = append(codes.Rows, manual.Row{Term: strconv.Itoa(int(row.code)), Meaning: row.when})
	}
	variables := manual.Section{Heading: "ENVIRONMENT"}
	for _, row := range environment {
		variables.Rows = append(variables.Rows, manual.Row{Term: row.name, Meaning: row.meaning})
	}
	return manual.Pages(a.parser.Model.Node, manual.Options{
		Program: program, About: "run pipelines of coding agents, durably", Version: thisBuild().Version,
		Forms:    []string{"<stage> [<session> [<max>]] [flags]"},
		Sections: []manual.Section{codes, variables},
		See: []string{
			program + " help <verb> prints what these pages say, and " + program + " explain <code> what a code means.",
			"The documentation: https://github.com/dodo-digital/agent-pipelines/tree/main/docs",
		},
	})
}

package machine

import (
	"context"
	"fmt"
	"strings"

	"github.com/dodo-digital/agent-pipelines/cmd/agent-pipelines/internal/cli"
	"github.com/dodo-digital/agent-pipelines/cmd/agent-pipelines/internal/document"
	"github.com/dodo-digital/agent-pipelines/cmd/agent-pipelines/internal/explain"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/nearest"
)

// Explain is the verb `explain <code>`.
type Explain struct {
	Code string `arg:"" optional:"" help:"An error's code (AP-YAML-105) or type (provider_timeout), or an exit code (22); default: list all."`
}

// Run implements [cli.Verb].
func (v *Explain) Run(_ context.Context, a *cli.App) error {
	if v.Code == "" {
		return v.list(a)
	}
	e, found := explain.Find(v.Code)
	if !found {
		hint := ""
		if near := nearest.Name(v.Code, explain.Names()); near != "" {
			hint = fmt.Sprintf("did you mean %s? ", near)
		}
		return cli.UsageError(fmt.Sprintf("'%s' is no code of an error", v.Code), "%s`%s explain` lists all of them", hint, cli.Program)
	}
	if a.JSON {
		a.Document(e)
		return nil
	}
	fmt.Fprintf(a.Stdout, "%s\n\n%s\n", strings.TrimSuffix(e.Name+": "+e.Title, ": "), e.Text)
	return nil
}

func (v *Explain) list(a *cli.App) error {
	all := explain.All()
	if a.JSON {
		a.Document(document.Explanations{Explanations: all})
		return nil
	}
	for _, e := range all {
		fmt.Fprintln(a.Stdout, strings.TrimRight(fmt.Sprintf("%-20s %s", e.Name, e.Title), " "))
	}
	return nil
}

// Version is the verb `version`.
type Version struct{}

// Run implements [cli.Verb].
func (Version) Run(_ context.Context, a *cli.App) error {
	b := cli.CurrentBuild()
	if a.JSON {
		a.Document(document.Version(b))
		return nil
	}
	_, err := fmt.Fprint(a.Stdout, b)
	return err
}

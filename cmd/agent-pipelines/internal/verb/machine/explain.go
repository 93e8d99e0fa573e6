package machine

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/dodo-digital/agent-pipelines/cmd/agent-pipelines/internal/cli"
	"github.com/dodo-digital/agent-pipelines/cmd/agent-pipelines/internal/document"
	"github.com/dodo-digital/agent-pipelines/cmd/agent-pipelines/internal/explain"
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
		return cli.UsageError(fmt.Sprintf("'%s' is not an error code", v.Code), "%s`%s explain` lists all of them", cli.DidYouMean(v.Code, explain.Names()), cli.Program)
	}
	return a.Print(e, func(to io.Writer) {
		fmt.Fprintf(to, "%s\n\n%s\n", strings.TrimSuffix(e.Name+": "+e.Title, ": "), e.Text)
	})
}

func (v *Explain) list(a *cli.App) error {
	all := explain.All()
	return a.Print(document.Explanations{Explanations: all}, func(to io.Writer) {
		for _, e := range all {
			fmt.Fprintln(to, strings.TrimRight(fmt.Sprintf("%-20s %s", e.Name, e.Title), " "))
		}
	})
}

// Version is the verb `version`.
type Version struct{}

// Run implements [cli.Verb].
func (Version) Run(_ context.Context, a *cli.App) error {
	b := cli.CurrentBuild()
	return a.Print(document.Version(b), func(to io.Writer) { fmt.Fprint(to, b) })
}

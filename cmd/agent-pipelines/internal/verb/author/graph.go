package author

import (
	"context"
	"io"

	"github.com/dodo-digital/agent-pipelines/cmd/agent-pipelines/internal/cli"
	"github.com/dodo-digital/agent-pipelines/cmd/agent-pipelines/internal/graph"
	"github.com/dodo-digital/agent-pipelines/engine"
)

// Graph is the verb `graph <pipeline>`.
type Graph struct {
	Name   string `arg:"" name:"pipeline" help:"The pipeline's name or file."`
	Format string `enum:"text,mermaid,svg" default:"text" placeholder:"WORD" help:"Output format: text, mermaid or svg (default text)."`
}

// Run implements [cli.Verb].
func (v *Graph) Run(ctx context.Context, a *cli.App) error {
	return cli.Show(ctx, a, func(e *engine.Engine) (g graph.Graph, err error) {
		p, found, err := e.Authoring().PipelinePlan(ctx, v.Name)
		if err != nil {
			return g, err
		}
		if found = dropCommandDiagnostics(found); p == nil || found.HasErrors() {
			return g, found
		}
		return graph.FromPlan(p), nil
	}, cli.Printable(func(to io.Writer, g graph.Graph) {
		switch v.Format {
		case "mermaid":
			g.Mermaid(to)
		case "svg":
			g.SVG(to)
		default:
			g.Text(to)
		}
	}))
}

// dropCommandDiagnostics drops the diagnostics on missing commands, which a project needs for a run but not for a drawing.
func dropCommandDiagnostics(found engine.Diagnostics) engine.Diagnostics {
	var others engine.Diagnostics
	for _, d := range found {
		if d.Code != "AP-YAML-217" && d.Code != "AP-YAML-310" {
			others = append(others, d)
		}
	}
	return others
}

package author

import (
	"context"
	"fmt"
	"io"
	"slices"

	"github.com/dodo-digital/agent-pipelines/cmd/agent-pipelines/internal/cli"
	"github.com/dodo-digital/agent-pipelines/cmd/agent-pipelines/internal/document"
	"github.com/dodo-digital/agent-pipelines/engine"
	"github.com/dodo-digital/agent-pipelines/engine/authoring"
)

// Lint is the verb `lint [loop|pipeline [name...]]` and `lint <file>...`.
type Lint struct {
	Names []string `arg:"" name:"what" optional:"" help:"Names or files to check. After the word loop or pipeline: names of that kind, none for all. Default: every stage and pipeline, and .claude/config.yaml."`
}

// These are the kinds of targets on the command line. A stage is also called loop.
const (
	modeStage    = "stage"
	modePipeline = "pipeline"
)

// Run implements [cli.Verb].
func (v *Lint) Run(ctx context.Context, a *cli.App) error {
	return cli.Show(ctx, a, func(e *engine.Engine) (document.Lint, error) {
		targets, err := e.Authoring().Lint(ctx, v.options())
		report := document.Lint{Targets: append([]authoring.LintTarget{}, targets...), Summary: document.LintSummary{Targets: len(targets)}}
		for _, t := range targets {
			if t.Passed {
				report.Summary.Passed++
			} else {
				report.Summary.Failed++
			}
		}
		if report.Summary.Failed > 0 {
			a.Code = cli.ExitFailed
		}
		return report, err
	}, cli.Printable(func(to io.Writer, r document.Lint) { writeLint(to, r, len(v.Names) == 0) }))
}

// options returns the targets: the first word may be the kind of the other words.
func (v *Lint) options() authoring.LintOptions {
	if len(v.Names) == 0 {
		return authoring.LintOptions{}
	}
	switch names := v.Names[1:]; v.Names[0] {
	case cli.ModeLoop, modeStage:
		return authoring.LintOptions{Stages: names, EveryStage: len(names) == 0}
	case modePipeline:
		return authoring.LintOptions{Pipelines: names, EveryPipeline: len(names) == 0}
	default:
		return authoring.LintOptions{Files: v.Names}
	}
}

// writeLint writes a report as text in the layout of the Bash engine. all means that every target was checked.
func writeLint(to io.Writer, r document.Lint, all bool) {
	if all {
		for _, part := range []struct{ kind, title string }{{authoring.LintStage, "loops"}, {authoring.LintPipeline, "pipelines"}, {authoring.LintConfig, "settings"}} {
			found := slices.ContainsFunc(r.Targets, func(t authoring.LintTarget) bool { return t.Kind == part.kind })
			if part.kind == authoring.LintConfig && !found { // most projects have none
				continue
			}
			fmt.Fprintf(to, "Validating %s...\n\n", part.title)
			for _, t := range r.Targets {
				if t.Kind == part.kind {
					writeTarget(to, t)
				}
			}
			fmt.Fprintln(to)
		}
	} else {
		for _, t := range r.Targets {
			writeTarget(to, t)
		}
	}
	if all || len(r.Targets) != 1 {
		fmt.Fprintf(to, "Summary: %d targets, %d passed, %d failed\n", r.Summary.Targets, r.Summary.Passed, r.Summary.Failed)
	}
}

// writeTarget writes the diagnostics of a stage or pipeline, errors before warnings.
func writeTarget(to io.Writer, t authoring.LintTarget) {
	verdict := "[PASS] All checks passed"
	if !t.Passed {
		verdict = "[FAIL] Validation failed"
	}
	fmt.Fprintf(to, "  %s\n    %s\n", t.Name, verdict)
	for _, part := range []struct{ severity, mark string }{{"error", "[ERROR]"}, {"warning", "[WARN]"}} {
		for _, d := range t.Diagnostics {
			if d.Severity.String() == part.severity {
				fmt.Fprintf(to, "    %s %s: %s%s (%s)\n", part.mark, cli.Position(d.File, d.Line, d.Column), d.Message, hintSuffix(d.Hint), d.Code)
			}
		}
	}
}

func hintSuffix(hint string) string {
	if hint == "" {
		return ""
	}
	return "; " + hint
}

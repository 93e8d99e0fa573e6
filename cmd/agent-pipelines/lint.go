package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/dodo-digital/agent-pipelines/cmd/agent-pipelines/internal/document"
	"github.com/dodo-digital/agent-pipelines/engine"
)

// lintVerb is `lint [loop|pipeline [name...]]` and `lint <file>...`.
type lintVerb struct {
	What []string `arg:"" optional:"" help:"loop or pipeline and names; or files or names. Default: every stage and pipeline, and .claude/config.yaml."`
}

// Words for what is checked or shown: a stage is run as a loop.
const (
	modeStage    = "stage"
	modePipeline = "pipeline"
)

func (v *lintVerb) run(ctx context.Context, a *app) error {
	return a.use(ctx, func(e *engine.Engine) error {
		targets, err := e.Lint(ctx, v.options())
		if err != nil {
			return err
		}
		report := lintReport{Targets: append([]engine.LintTarget{}, targets...), Summary: document.LintSummary{Targets: len(targets)}}
		for _, t := range targets {
			if t.Passed {
				report.Summary.Passed++
			} else {
				report.Summary.Failed++
			}
		}
		if report.Summary.Failed > 0 {
			a.code = exitFailed
		}
		if a.JSON {
			a.document(document.Lint(report))
			return nil
		}
		var text strings.Builder
		report.write(&text, len(v.What) == 0)
		writePrintable(a.stdout, text.String())
		return nil
	})
}

// options reads the words: the first says of what kind the others are.
func (v *lintVerb) options() engine.LintOptions {
	if len(v.What) == 0 {
		return engine.LintOptions{}
	}
	switch names := v.What[1:]; v.What[0] {
	case modeLoop, modeStage:
		return engine.LintOptions{Stages: names, EveryStage: len(names) == 0}
	case modePipeline:
		return engine.LintOptions{Pipelines: names, EveryPipeline: len(names) == 0}
	default:
		return engine.LintOptions{Files: v.What}
	}
}

// lintReport is what lint prints, in words or as JSON.
type lintReport document.Lint

// write writes the report for people, in the Bash engine's layout; all: of everything there is.
func (r lintReport) write(to io.Writer, all bool) {
	if all {
		for _, part := range []struct{ kind, title string }{{engine.LintStage, "loops"}, {engine.LintPipeline, "pipelines"}, {engine.LintConfig, "settings"}} {
			if part.kind == engine.LintConfig && !r.has(part.kind) { // most projects have none
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

// has reports whether something of a kind was checked.
func (r lintReport) has(kind string) bool {
	return slices.ContainsFunc(r.Targets, func(t engine.LintTarget) bool { return t.Kind == kind })
}

// writeTarget writes what was found in a stage or pipeline, faults before warnings.
func writeTarget(to io.Writer, t engine.LintTarget) {
	verdict := "[PASS] All checks passed"
	if !t.Passed {
		verdict = "[FAIL] Validation failed"
	}
	fmt.Fprintf(to, "  %s\n    %s\n", t.Name, verdict)
	for _, part := range []struct{ severity, mark string }{{"error", "[ERROR]"}, {"warning", "[WARN]"}} {
		for _, d := range t.Diagnostics {
			if d.Severity.String() == part.severity {
				fmt.Fprintf(to, "    %s %s: %s%s (%s)\n", part.mark, placed(d.File, d.Line, d.Column), d.Message, hinted(d.Hint), d.Code)
			}
		}
	}
}

func hinted(hint string) string {
	if hint == "" {
		return ""
	}
	return "; " + hint
}

package author

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/dodo-digital/agent-pipelines/cmd/agent-pipelines/internal/cli"
	"github.com/dodo-digital/agent-pipelines/cmd/agent-pipelines/internal/document"
	"github.com/dodo-digital/agent-pipelines/cmd/agent-pipelines/internal/verb/run"
	"github.com/dodo-digital/agent-pipelines/engine"
	"github.com/dodo-digital/agent-pipelines/engine/authoring"
)

// DryRun is the verb `dry-run loop|pipeline <name> [session]`.
type DryRun struct {
	Kind    string `arg:"" help:"loop or pipeline."`
	Name    string `arg:"" complete:"pipeline" help:"A stage's name, or a pipeline's name or file."`
	Session string `arg:"" optional:"" help:"Session name (default: as for the run)."`

	Max  int      `default:"25" help:"Maximum iterations of a loop (default 25)."`
	Runs run.Runs `placeholder:"N" help:"Number of runs of the whole pipeline (default 1)."`
	run.InputFlags
	run.FlowFlags
	run.EntryFlags

	Assume map[string]string `mapsep:"none" placeholder:"NODE=OUTCOME" help:"Assume this outcome of a node's iterations: success, fail, retry, stop or error. A node with an artifact, requires, checks, steps or transitions also takes reject and escalate, a node with skip_when also skip. Repeatable."`
}

// Run implements [cli.Verb].
func (v *DryRun) Run(ctx context.Context, a *cli.App) error {
	o, err := v.options(ctx, a)
	if err != nil {
		return err
	}
	return cli.Show(ctx, a, func(e *engine.Engine) (all document.DryRun, err error) {
		d, err := e.DryRun(ctx, engine.DryRunOptions{Run: o, Assume: v.Assume})
		if err != nil {
			return all, err
		}
		lint := authoring.LintOptions{Pipelines: []string{v.Name}, Commands: o.Commands}
		if o.Stage != "" {
			lint = authoring.LintOptions{Stages: []string{v.Name}, Commands: o.Commands}
		}
		targets, err := e.Authoring().Lint(ctx, lint)
		if err != nil {
			return all, err
		}
		return document.DryRun{DryRun: *d, Lint: targets[0]}, nil
	}, cli.Printable(func(to io.Writer, all document.DryRun) {
		for _, w := range all.Warnings { // of settings files, which do not belong to this target
			if !slices.Contains(all.Lint.Diagnostics, w) {
				all.Lint.Diagnostics = append(all.Lint.Diagnostics, w)
			}
		}
		writeDryRun(to, &all.DryRun, all.Lint)
	}))
}

func (v *DryRun) options(ctx context.Context, a *cli.App) (engine.RunOptions, error) {
	flags := run.SessionFlags{InputFlags: v.InputFlags, FlowFlags: v.FlowFlags}
	o, err := flags.Options(a)
	if err != nil {
		return o, err
	}
	o.Session = v.Session
	entry := run.SetFlags(a.Selected, run.EntryNames...)
	switch {
	case v.Name == "":
		return o, cli.UsageError("the name is empty", "give the name of a stage or a pipeline")
	case v.Kind == modePipeline:
		o.Pipeline, o.Runs = v.Name, int(v.Runs)
		err = v.Resolve(ctx, a, &o)
	case v.Kind != cli.ModeLoop && v.Kind != modeStage:
		return o, cli.UsageError(fmt.Sprintf("Unknown target type '%s'. Use 'loop' or 'pipeline'.", v.Kind), "%s dry-run loop|pipeline <name> [session]", cli.Program)
	case len(entry) > 0:
		return o, cli.UsageError(fmt.Sprintf("a stage has no %s", strings.Join(entry, ", ")), "%s dry-run pipeline <name> takes them", cli.Program)
	case v.Runs > 1:
		return o, cli.UsageError("a stage has no --runs", "limit its iterations with --max")
	case v.Max < 1:
		return o, cli.UsageError(fmt.Sprintf("a loop cannot have %d iterations", v.Max), "give a number from 1, or leave it out")
	default:
		o.Stage, o.Max = v.Name, v.Max
	}
	return o, err
}

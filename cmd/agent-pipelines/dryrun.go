package main

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/dodo-digital/agent-pipelines/cmd/agent-pipelines/internal/document"
	"github.com/dodo-digital/agent-pipelines/engine"
)

// dryRunVerb is `dry-run loop|pipeline <name> [session]`.
type dryRunVerb struct {
	Kind    string `arg:"" help:"loop or pipeline."`
	Name    string `arg:"" complete:"pipeline" help:"The stage's name; the pipeline's name or file."`
	Session string `arg:"" optional:"" help:"The session's name. Default: as the run's."`

	Max      int               `default:"25" help:"The most iterations of a loop. Default: 25."`
	Runs     runs              `placeholder:"N" help:"How often the whole pipeline runs. Default: 1."`
	Provider string            `help:"As the run's."`
	Model    string            `help:"As the run's."`
	Context  string            `help:"As the run's."`
	Input    []string          `sep:"none" placeholder:"FILE" help:"As the run's."`
	Command  map[string]string `mapsep:"none" placeholder:"NAME=CMD" help:"As the run's."`
	flowFlags
	entryFlags

	Assume map[string]string `mapsep:"none" placeholder:"NODE=OUTCOME" help:"What the iterations of a node come to: success, fail, retry, stop or error; where it has an artifact, checks, steps or transitions also reject or escalate. May be given several times."`
}

func (v *dryRunVerb) run(ctx context.Context, a *app) error {
	o, err := v.options(ctx, a)
	if err != nil {
		return err
	}
	return a.use(ctx, func(e *engine.Engine) error {
		d, err := e.DryRun(ctx, engine.DryRunOptions{Run: o, Assume: v.Assume})
		if err != nil {
			return err
		}
		lint := engine.LintOptions{Pipelines: []string{v.Name}, Commands: o.Commands}
		if o.Stage != "" {
			lint = engine.LintOptions{Stages: []string{v.Name}, Commands: o.Commands}
		}
		targets, err := e.Lint(ctx, lint)
		if err != nil {
			return err
		}
		if a.JSON {
			a.document(document.DryRun{DryRun: *d, Lint: targets[0]})
			return nil
		}
		target := targets[0]
		for _, w := range d.Warnings { // of files of settings, which are not this target's
			if !slices.Contains(target.Diagnostics, w) {
				target.Diagnostics = append(target.Diagnostics, w)
			}
		}
		var text strings.Builder
		writeDryRun(&text, d, target)
		writePrintable(a.stdout, text.String())
		return nil
	})
}

func (v *dryRunVerb) options(ctx context.Context, a *app) (engine.RunOptions, error) {
	given := givenFlags{Provider: v.Provider, Model: v.Model, Context: v.Context, Input: v.Input, Command: v.Command}
	flags := runFlags{givenFlags: given, flowFlags: v.flowFlags}
	o, err := flags.options(a)
	if err != nil {
		return o, err
	}
	o.Session = v.Session
	switch {
	case v.Name == "":
		return o, usageError("the name is empty", "give the name of a stage or a pipeline")
	case v.Kind == modePipeline:
		o.Pipeline, o.Runs = v.Name, int(v.Runs)
		err = v.enter(ctx, a, &o)
	case v.Kind != modeLoop && v.Kind != modeStage:
		return o, usageError(fmt.Sprintf("Unknown target type '%s'. Use 'loop' or 'pipeline'.", v.Kind), "%s dry-run loop|pipeline <name> [session]", program)
	case len(v.entryFlags.given()) > 0:
		return o, usageError(fmt.Sprintf("a stage has no %s", strings.Join(v.entryFlags.given(), ", ")), "%s dry-run pipeline <name> takes them", program)
	case v.Runs > 1:
		return o, usageError("a stage has no --runs", "--max says how many iterations it has at most")
	case v.Max < 1:
		return o, usageError(fmt.Sprintf("a loop cannot have %d iterations", v.Max), "give a number from 1, or leave it out")
	default:
		o.Stage, o.Max = v.Name, v.Max
	}
	return o, err
}

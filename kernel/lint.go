package kernel

import (
	"context"

	"github.com/dodo-digital/agent-pipelines/kernel/internal/lint"
)

// LintOptions name what is to be checked. Nothing named means every stage and every pipeline of the project
// and of the engine's root.
type LintOptions struct {
	Stages    []string // by name
	Pipelines []string // by name or path
	Files     []string // pipeline files, stage.yaml files or the folders of stages
	// EveryStage and EveryPipeline stand for all the names of a kind.
	EveryStage, EveryPipeline bool
}

// LintTarget is a stage or a pipeline and what was found in it.
type LintTarget = lint.Target

// The kinds of a [LintTarget].
const (
	LintStage    = lint.KindStage
	LintPipeline = lint.KindPipeline
)

// Lint checks stages and pipelines: all that a start would refuse, and what is probably not meant. It runs
// nothing of the project and writes nothing in it. A name that stands for nothing is a [*NotFoundError].
func (e *Engine) Lint(ctx context.Context, o LintOptions) ([]LintTarget, error) {
	l, err := e.linter(ctx)
	if err != nil {
		return nil, err
	}
	if len(o.Stages)+len(o.Pipelines)+len(o.Files) == 0 && !o.EveryStage && !o.EveryPipeline {
		return l.All(), nil
	}
	var all []LintTarget
	if o.EveryStage {
		all = append(all, l.Stages()...)
	}
	if o.EveryPipeline {
		all = append(all, l.Pipelines()...)
	}
	for _, named := range []struct {
		names []string
		check func(string) (lint.Target, error)
	}{{o.Stages, l.Stage}, {o.Pipelines, l.Pipeline}, {o.Files, l.File}} {
		for _, name := range named.names {
			target, err := named.check(name)
			if err != nil {
				return nil, err
			}
			all = append(all, target)
		}
	}
	return all, nil
}

func (e *Engine) linter(ctx context.Context) (lint.Linter, error) {
	configs, _, err := e.settings.assign(ctx, e.host)
	if err != nil {
		return lint.Linter{}, err
	}
	known, err := newCatalog(ctx, e.host, configs)
	if err != nil {
		return lint.Linter{}, err
	}
	return lint.Linter{Request: e.compilation(RunOptions{}, known), Catalog: known}, nil
}

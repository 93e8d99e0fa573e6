package engine

import (
	"context"
	"errors"
	"path/filepath"
	"slices"

	"github.com/dodo-digital/agent-pipelines/engine/internal/lint"
	"github.com/dodo-digital/agent-pipelines/engine/internal/settings"
	"github.com/dodo-digital/agent-pipelines/kernel/yamldoc"
)

// LintOptions name what is to be checked. Nothing named means every stage and every pipeline of the project
// and of the engine's root, and the project's .claude/config.yaml.
type LintOptions struct {
	Stages    []string // by name
	Pipelines []string // by name or path
	Files     []string // pipeline files, stage.yaml files, the folders of stages, .claude/config.yaml
	// EveryStage and EveryPipeline stand for all the names of a kind.
	EveryStage, EveryPipeline bool
	// Commands win over those that the files say, as in [RunOptions].
	Commands map[string]string
}

// LintTarget is a stage, a pipeline or the project's file of settings and what was found in it.
type LintTarget = lint.Target

// The kinds of a [LintTarget].
const (
	LintStage    = lint.KindStage
	LintPipeline = lint.KindPipeline
	LintConfig   = lint.KindConfig
)

// Lint checks stages and pipelines: all that a start would refuse, and what is probably not meant. It runs
// nothing of the project and writes nothing in it. The project's file of settings comes last where it was
// asked for or has faults; with faults, the others are checked without it. A name that stands for nothing is a
// [*NotFoundError].
func (e *Engine) Lint(ctx context.Context, o LintOptions) ([]LintTarget, error) {
	l, config, err := e.linter(ctx, o.Commands)
	if err != nil {
		return nil, err
	}
	files := slices.DeleteFunc(slices.Clone(o.Files), e.isProjectSettings)
	asked := len(files) < len(o.Files)
	var all []LintTarget
	switch {
	case len(o.Stages)+len(o.Pipelines)+len(o.Files) > 0 || o.EveryStage || o.EveryPipeline:
		o.Files = files
		if all, err = lintNamed(l, o); err != nil {
			return nil, err
		}
	default:
		all, asked = l.All(), e.hasProjectSettings()
	}
	if asked || !config.Passed {
		all = append(all, config)
	}
	for i := range all {
		all[i].Diagnostics = e.clean(all[i].Diagnostics)
	}
	return all, nil
}

// lintNamed checks what is named.
func lintNamed(l lint.Linter, o LintOptions) ([]LintTarget, error) {
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

// isProjectSettings reports whether a path is that of the project's file of settings, which exists.
func (e *Engine) isProjectSettings(path string) bool {
	if !filepath.IsAbs(path) {
		path = filepath.Join(e.config.workDir, path)
	}
	return filepath.Clean(path) == e.project.Abs(settings.ProjectFile) && e.hasProjectSettings()
}

// hasProjectSettings reports whether the project has a file of settings, or what is meant to be one.
func (e *Engine) hasProjectSettings() bool {
	_, err := e.project.Stat(settings.ProjectFile)
	return err == nil || e.settings.project.found.HasErrors()
}

// linter makes a linter, with commands over those of the files, and the target of the project's file of settings; one that has faults is not used.
func (e *Engine) linter(ctx context.Context, commands map[string]string) (lint.Linter, LintTarget, error) {
	said := e.settings
	configs, found, err := said.assign(ctx, e.host)
	var faults Diagnostics
	if errors.As(err, &faults) {
		found = faults
	}
	own := slices.DeleteFunc(slices.Clone(found), func(d yamldoc.Diagnostic) bool { return d.File != settings.ProjectFile })
	if own.HasErrors() {
		said.project = written{}
		configs, _, err = said.assign(ctx, e.host)
	}
	if err != nil {
		return lint.Linter{}, LintTarget{}, err
	}
	known, err := newCatalog(ctx, e.host, configs)
	if err != nil {
		return lint.Linter{}, LintTarget{}, err
	}
	return lint.Linter{Request: e.compilation(RunOptions{Commands: commands}, known, said), Catalog: known}, lint.Config(settings.ProjectFile, own), nil
}

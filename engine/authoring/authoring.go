package authoring

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/dodo-digital/agent-pipelines/engine/internal/environment"
	"github.com/dodo-digital/agent-pipelines/engine/internal/lint"
	"github.com/dodo-digital/agent-pipelines/engine/internal/reference"
	"github.com/dodo-digital/agent-pipelines/engine/internal/settings"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/kernel/yamldoc"
)

// Project answers queries about a project's pipelines, stages, settings and providers without running any of them. It
// is safe for concurrent use, until its engine is closed.
type Project struct{ env *environment.Environment }

// New returns the project of an engine's environment; use [engine.Engine.Authoring].
func New(env *environment.Environment) Project { return Project{env} }

// SchemaBase is the URL prefix of the published schemas, each <file>.json. They know no plugins.
const SchemaBase = "https://raw.githubusercontent.com/dodo-digital/agent-pipelines/main/docs/schema/"

// DialectFiles returns the names of the authored file types: pipeline, stage, config.
func DialectFiles() []string {
	var names []string
	for _, m := range reference.Files() {
		names = append(names, m.Name)
	}
	return names
}

// DialectSchema returns the JSON Schema (draft 2020-12) of one of [DialectFiles], for editors, with a final newline.
// The schema accepts every document that the compiler accepts, and checks types, enumerated values, bounds and
// required keys. It does not know other files, names or plugins. An unknown file is [engine.ErrOptions].
func DialectSchema(file string) ([]byte, error) {
	for _, m := range reference.Files() {
		if m.Name == file {
			return reference.Schema(m, SchemaBase+file+".json")
		}
	}
	return nil, fmt.Errorf("%w: unknown schema %q: want one of %s", environment.ErrOptions, file, strings.Join(DialectFiles(), ", "))
}

// LintOptions selects the files to check. The zero value selects every stage and pipeline of the project and
// of the engine's root, and the project's .claude/config.yaml.
type LintOptions struct {
	Stages    []string // by name
	Pipelines []string // by name or path
	Files     []string // pipeline files, stage.yaml files, stage folders, .claude/config.yaml
	// EveryStage and EveryPipeline select all stages or pipelines.
	EveryStage, EveryPipeline bool
	// Commands overrides the commands in the files, as in [engine.RunOptions].
	Commands map[string]string
}

// LintTarget is a checked stage, pipeline or settings file with its diagnostics.
type LintTarget = lint.Target

// Kinds of a [LintTarget].
const (
	LintStage    = lint.KindStage
	LintPipeline = lint.KindPipeline
	LintConfig   = lint.KindConfig
)

// Lint checks stages and pipelines for all faults for which a start would be refused, and for probable mistakes. It
// runs and writes nothing in the project. The project's settings file is last, if it was selected or has faults; a
// file with faults does not apply to the other targets. An unknown name is a [*sources.NotFoundError].
func (pr Project) Lint(ctx context.Context, o LintOptions) ([]LintTarget, error) {
	l, config, err := pr.newLinter(ctx, o.Commands)
	if err != nil {
		return nil, err
	}
	files := slices.DeleteFunc(slices.Clone(o.Files), pr.isProjectSettings)
	asked := len(files) < len(o.Files)
	var all []LintTarget
	switch {
	case len(o.Stages)+len(o.Pipelines)+len(o.Files) > 0 || o.EveryStage || o.EveryPipeline:
		o.Files = files
		if all, err = lintNamed(l, o); err != nil {
			return nil, err
		}
	default:
		all, asked = l.All(), pr.hasProjectSettings()
	}
	if asked || !config.Passed {
		all = append(all, config)
	}
	for i := range all {
		all[i].Diagnostics = pr.env.RedactDiagnostics(all[i].Diagnostics)
	}
	return all, nil
}

// lintNamed checks the selected targets.
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

// isProjectSettings reports whether a path is the project's existing settings file.
func (pr Project) isProjectSettings(path string) bool {
	if !filepath.IsAbs(path) {
		path = filepath.Join(pr.env.Config.WorkDir, path)
	}
	return filepath.Clean(path) == pr.env.Project.Abs(settings.ProjectFile) && pr.hasProjectSettings()
}

// hasProjectSettings reports whether the project has a settings file, readable or not.
func (pr Project) hasProjectSettings() bool {
	_, err := pr.env.Project.Stat(settings.ProjectFile)
	return err == nil || pr.env.Settings.Project.Diagnostics.HasErrors()
}

// newLinter returns a linter, in which commands override those of the files, and the lint target of the
// project's settings file. If that file has faults, it is not applied.
func (pr Project) newLinter(ctx context.Context, commands map[string]string) (lint.Linter, LintTarget, error) {
	s := pr.env.Settings
	configs, found, err := s.Assign(ctx, pr.env.Host)
	var faults yamldoc.Diagnostics
	if errors.As(err, &faults) {
		found = faults
	}
	project := slices.DeleteFunc(slices.Clone(found), func(d yamldoc.Diagnostic) bool { return d.File != settings.ProjectFile })
	if project.HasErrors() {
		s.Project = environment.SettingsFile{}
		configs, _, err = s.Assign(ctx, pr.env.Host)
	}
	if err != nil {
		return lint.Linter{}, LintTarget{}, err
	}
	catalog, err := environment.NewCatalog(ctx, pr.env.Host, configs)
	if err != nil {
		return lint.Linter{}, LintTarget{}, err
	}
	return lint.Linter{Request: pr.env.CompileRequest(plan.Overrides{Commands: commands}, catalog, s), Catalog: catalog}, lint.Config(settings.ProjectFile, project), nil
}

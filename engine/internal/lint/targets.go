package lint

import (
	"errors"
	"os"
	"path/filepath"
	"strings"

	"github.com/dodo-digital/agent-pipelines/kernel/sources"
	"github.com/dodo-digital/agent-pipelines/kernel/yamldoc"
)

// All checks every stage and then every pipeline of the project and of $AGENT_PIPELINES_ROOT, sorted by name. It leaves
// out shipped stages and pipelines, which the user cannot correct.
func (l Linter) All() []Target { return append(l.Stages(), l.Pipelines()...) }

// userRoots returns the roots of the user's files.
func (l Linter) userRoots() sources.Roots {
	roots := l.Request.Roots
	roots.Library = nil
	return roots
}

// Stages checks every stage that is not shipped.
func (l Linter) Stages() []Target {
	var all []Target
	for _, name := range l.userRoots().Stages("") {
		if t, err := l.Stage(name); err == nil { // a directory whose name is invalid for a stage is left out
			all = append(all, t)
		}
	}
	return all
}

// Pipelines checks every pipeline that is not shipped.
func (l Linter) Pipelines() []Target {
	var all []Target
	for _, name := range l.userRoots().Pipelines() {
		if t, err := l.Pipeline(name); err == nil { // a pipeline that was removed after the listing is left out
			all = append(all, t)
		}
	}
	return all
}

// Stage checks the stage with a name. The error is a [*sources.NotFoundError].
func (l Linter) Stage(name string) (Target, error) {
	dir, err := l.Request.FindStage(name, "")
	if err != nil {
		return Target{}, err
	}
	return l.stage(dir), nil
}

// Pipeline checks the pipeline with a name or path. The error is a [*sources.NotFoundError].
func (l Linter) Pipeline(name string) (Target, error) {
	file, err := l.Request.FindPipeline(name)
	if err != nil {
		return Target{}, err
	}
	return l.pipeline(strings.TrimSuffix(filepath.Base(file), ".yaml"), file), nil
}

// File checks the file or folder at a path. A stage.yaml, or a folder with a stage.yaml, is a stage; any other file is
// a pipeline. A path without a file may be the name of a pipeline or stage, also of a shipped one. A missing file, or a
// folder without a stage, is a [*sources.NotFoundError].
func (l Linter) File(path string) (Target, error) {
	file := path
	if !filepath.IsAbs(file) {
		file = filepath.Join(l.Request.Project, file)
	}
	if info, err := os.Stat(file); err == nil && info.IsDir() {
		file = filepath.Join(file, "stage.yaml")
	}
	if _, err := os.Stat(file); errors.Is(err, os.ErrNotExist) {
		if t, found := l.named(path); found {
			return t, nil
		}
		return Target{}, &sources.NotFoundError{Kind: "file", Name: path, Searched: []string{l.Request.Display(file)}}
	}
	if filepath.Base(file) == "stage.yaml" {
		dir := filepath.Dir(file)
		return l.stage(sources.StageDir{Name: filepath.Base(dir), Path: dir}), nil
	}
	return l.pipeline(strings.TrimSuffix(filepath.Base(file), ".yaml"), file), nil
}

// named checks the pipeline with a name, or else the stage with that name. It finds nothing for a path.
func (l Linter) named(name string) (t Target, found bool) {
	if filepath.Base(name) != name || filepath.Ext(name) != "" {
		return Target{}, false
	}
	if t, err := l.Pipeline(name); err == nil {
		return t, true
	}
	t, err := l.Stage(name)
	return t, err == nil
}

// Config returns the target of a file of settings with the diagnostics of package settings.
func Config(file string, found yamldoc.Diagnostics) Target {
	return target(KindConfig, file, file, found)
}

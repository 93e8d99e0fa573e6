package lint

import (
	"cmp"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/dodo-digital/agent-pipelines/kernel/compile"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/kernel/sources"
	"github.com/dodo-digital/agent-pipelines/kernel/yamldoc"
)

// The kinds of targets.
const (
	KindStage    = "stage"
	KindPipeline = "pipeline"
	KindConfig   = "config" // the project's file of settings
)

// Target is one stage, pipeline or file of settings with its diagnostics.
type Target struct {
	Kind string `json:"kind"`
	Name string `json:"name"` // by which it is started
	File string `json:"file"` // the pipeline file or the stage.yaml; relative to the project where it lies inside it
	// Passed: there are no faults; there may be warnings.
	Passed bool `json:"passed"`
	// Diagnostics are the faults and warnings, sorted by position; never nil.
	Diagnostics yamldoc.Diagnostics `json:"diagnostics"`
}

// Catalog knows the components that stages and pipelines may name.
type Catalog interface {
	compile.Catalog
	// Models lists the models that a provider is known to work with, none if that is not known. Only them:
	// it refuses others.
	Models(provider string) (known []string, only bool)
	// Reports says whether a provider reports the cost and the tokens of an attempt; true where that is unknown.
	Reports(provider string) (usd, tokens bool)
	// OffersTools says whether a provider, or its agent, has tools whose calls it reports; true where that is
	// unknown.
	OffersTools(provider string) bool
}

// Linter checks the stages and pipelines of a project. It is used from one goroutine.
type Linter struct {
	// Request is what each compilation starts from; its File is not used, its Catalog is set from Catalog.
	Request compile.Request
	Catalog Catalog
}

// All checks every stage and then every pipeline of the project and of the engine's root, by name. Shipped
// ones are not the user's to correct and are left out.
func (l Linter) All() []Target { return append(l.Stages(), l.Pipelines()...) }

// userRoots are the roots of the user's files.
func (l Linter) userRoots() sources.Roots {
	roots := l.Request.Roots
	roots.Library = nil
	return roots
}

// Stages checks every stage that is not a shipped one.
func (l Linter) Stages() []Target {
	var all []Target
	for _, name := range l.userRoots().Stages("") {
		if t, err := l.Stage(name); err == nil { // a name that no stage can have is none
			all = append(all, t)
		}
	}
	return all
}

// Pipelines checks every pipeline.
func (l Linter) Pipelines() []Target {
	var all []Target
	for _, name := range l.userRoots().Pipelines() {
		if t, err := l.Pipeline(name); err == nil { // gone since it was listed
			all = append(all, t)
		}
	}
	return all
}

// Stage checks the stage that a name stands for. The error is a [*sources.NotFoundError].
func (l Linter) Stage(name string) (Target, error) {
	dir, err := l.Request.FindStage(name, "")
	if err != nil {
		return Target{}, err
	}
	return l.stage(dir), nil
}

// Pipeline checks the pipeline that a name or path stands for. The error is a [*sources.NotFoundError].
func (l Linter) Pipeline(name string) (Target, error) {
	file, err := l.Request.FindPipeline(name)
	if err != nil {
		return Target{}, err
	}
	return l.pipeline(strings.TrimSuffix(filepath.Base(file), ".yaml"), file), nil
}

// File checks the file or folder at a path: a stage.yaml or the folder of one is a stage, everything else a pipeline.
// A text that is not a path may be the name of a pipeline or stage, shipped ones too. A missing file, or a folder
// without a stage, is a [*sources.NotFoundError].
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

// named checks the pipeline, or else the stage, of a name that is not a path.
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

// Config is the target of a file of settings, of which package settings has found everything.
func Config(file string, found yamldoc.Diagnostics) Target {
	return target(KindConfig, file, file, found)
}

// target returns a target with its diagnostics.
func target(kind, name, file string, found yamldoc.Diagnostics) Target {
	found = append(yamldoc.Diagnostics{}, found.Sorted()...)
	return Target{Kind: kind, Name: name, File: file, Passed: !found.HasErrors(), Diagnostics: found}
}

// tree parses a file again, for the parts that the compiler does not check. The tree is nil for a file that is not a
// map, which the compiler has reported.
func tree(name string, data []byte) *yamldoc.Node {
	var ignored yamldoc.Diagnostics
	root, _ := yamldoc.Document{File: name, Diagnostics: &ignored}.Parse(data)
	if root == nil || root.Kind != yamldoc.Map {
		return nil
	}
	return root
}

// checkModel finds a model that its provider does not know. A name may have an effort behind a colon.
func (l Linter) checkModel(d yamldoc.Document, provider string, model *yamldoc.Node) {
	if model == nil || model.Kind != yamldoc.Text || model.Source == "" {
		return
	}
	known, only := l.Catalog.Models(provider)
	plain, _, _ := strings.Cut(model.Source, ":")
	if len(known) == 0 || slices.Contains(known, model.Source) || slices.Contains(known, plain) {
		return
	}
	hint := "known: " + strings.Join(known, ", ")
	if only {
		d.Errorf(model.Pos, yamldoc.CodeModel, hint, "provider %s has no model %q", provider, model.Source)
		return
	}
	d.Warnf(model.Pos, yamldoc.CodeModel, hint, "provider %s is not known to have a model %q", provider, model.Source)
}

// checkJudgment finds a judgment that would end sooner than its author may think. at is where the termination
// stands.
func checkJudgment(d yamldoc.Document, at yamldoc.Pos, t plan.Termination) {
	if t.Type() != plan.TypeJudgment {
		return
	}
	if _, found := t["consensus"]; !found {
		d.Warnf(at, yamldoc.CodeJudgment, "", "Judgment loops should specify 'termination.consensus' (defaulting to %d)", t.Consensus())
	}
	if least := t.MinIterations(); least < 2 {
		d.Warnf(at, yamldoc.CodeJudgment, "", "Judgment loops should have min_iterations >= 2 (current: %d)", least)
	}
}

// text is the first of the keys that a map has a text under, nil if none has.
func text(m *yamldoc.Node, keys ...string) *yamldoc.Node {
	for _, key := range keys {
		if n := m.Get(key); n != nil && n.Kind == yamldoc.Text && n.Source != "" {
			return n
		}
	}
	return nil
}

// position is where a value stands, or the map that lacks it.
func position(n, within *yamldoc.Node) yamldoc.Pos { return cmp.Or(n, within).Pos }

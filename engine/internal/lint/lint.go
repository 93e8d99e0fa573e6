package lint

import (
	"cmp"
	"slices"
	"strings"

	"github.com/dodo-digital/agent-pipelines/kernel/compile"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/kernel/yamldoc"
)

// The Kind constants are the kinds of a [Target].
const (
	KindStage    = "stage"
	KindPipeline = "pipeline"
	KindConfig   = "config" // the project's file of settings
)

// Target is one stage, pipeline or file of settings with its diagnostics.
type Target struct {
	Kind string `json:"kind"`
	Name string `json:"name"` // the name to start the target by; for a file of settings, its path
	File string `json:"file"` // the pipeline file, stage.yaml or file of settings; relative to the project if inside it
	// Passed reports whether the target has no faults; it may have warnings.
	Passed bool `json:"passed"`
	// Diagnostics are the faults and warnings, sorted by position; never nil.
	Diagnostics yamldoc.Diagnostics `json:"diagnostics"`
}

// Catalog knows the components that stages and pipelines may name.
type Catalog interface {
	compile.Catalog
	// Models returns the models that a provider is known to work with, none if unknown. exclusive says whether the
	// provider refuses other models.
	Models(provider string) (known []string, exclusive bool)
	// Reports returns whether a provider reports the cost and the tokens of an attempt; true if unknown.
	Reports(provider string) (usd, tokens bool)
}

// Linter checks the stages and pipelines of a project. It is used from one goroutine.
type Linter struct {
	// Request is the base of each compilation. Its File and Session are not used; its Catalog is replaced by the
	// Linter's.
	Request compile.Request
	Catalog Catalog
}

// target returns a target with its sorted diagnostics.
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

// checkModel finds a model that its provider does not know. The name may have a reasoning effort after a colon.
func (l Linter) checkModel(d yamldoc.Document, provider string, model *yamldoc.Node) {
	if model == nil || model.Kind != yamldoc.Text || model.Source == "" {
		return
	}
	known, exclusive := l.Catalog.Models(provider)
	plain, _, _ := strings.Cut(model.Source, ":")
	if len(known) == 0 || slices.Contains(known, model.Source) || slices.Contains(known, plain) {
		return
	}
	hint := "known: " + strings.Join(known, ", ")
	if exclusive {
		d.Errorf(model.Pos, yamldoc.CodeModel, hint, "provider %s has no model %q", provider, model.Source)
		return
	}
	d.Warnf(model.Pos, yamldoc.CodeModel, hint, "provider %s is not known to have a model %q", provider, model.Source)
}

// checkJudgment warns of a termination of type judgment that may end sooner than its author expects. at is the
// position of the termination.
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

// text returns the first non-empty text under one of the keys, nil if there is none.
func text(m *yamldoc.Node, keys ...string) *yamldoc.Node {
	for _, key := range keys {
		if n := m.Get(key); n != nil && n.Kind == yamldoc.Text && n.Source != "" {
			return n
		}
	}
	return nil
}

// position returns the position of the value n, or of the map within if n is nil.
func position(n, within *yamldoc.Node) yamldoc.Pos { return cmp.Or(n, within).Pos }

// items returns the items of the list under the first key that has a list, nil if no key has one.
func items(m *yamldoc.Node, keys ...string) []*yamldoc.Node {
	for _, key := range keys {
		if list := m.Get(key); list != nil && list.Kind == yamldoc.List {
			return list.Items
		}
	}
	return nil
}

package artifact

import (
	"maps"
	"slices"

	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/kernel/state"
	"github.com/dodo-digital/agent-pipelines/kernel/store"
)

// Input is the artifact that a node works from.
type Input struct {
	// From is the id of the node that made it, or in whose place the run was given it; [plan.RequiresStart] for what
	// the run, or the pipeline that the node stands in, began with.
	From string
	Ref  event.Ref

	contract *plan.Artifact // of the node that it is from, nil for one that hands on what another one made
}

// InputOf is the input artifact of the node at a place: that of the node which inputs.from names; else of the one that
// the run came from; else of the nearest one before it in its list; else what its pipeline began with. The first of
// them that has one counts; false where none has.
func InputOf(p *plan.Plan, st state.State, n *plan.Node, at event.Location) (Input, bool) {
	siblings, position := p.Siblings(at.Outer())
	of := func(i int) (Input, bool) {
		if i < 0 {
			return Input{}, false
		}
		ref, has := st.ArtifactOf(siblings[i].Path)
		return Input{From: siblings[i].ID, Ref: ref, contract: siblings[i].Artifact}, has
	}
	named := slices.IndexFunc(siblings, func(s plan.Node) bool { return s.ID == n.Inputs.From() })
	came := slices.IndexFunc(siblings, func(s plan.Node) bool { return s.Path == st.Nodes[at.Outer()].From })
	for _, i := range []int{named, came} {
		if in, has := of(i); has {
			return in, true
		}
	}
	for i := position - 1; i >= 0; i-- {
		if in, has := of(i); has {
			return in, true
		}
	}
	ref, has := StartOf(p, st, at.Outer())
	return Input{From: plan.RequiresStart, Ref: ref}, has
}

// StartOf is what the pipeline in whose list the node at path stands began with: the run's, or that of the node which
// embeds the pipeline; false where it began with nothing.
func StartOf(p *plan.Plan, st state.State, path string) (event.Ref, bool) {
	ref := st.Input
	if embedder := p.Embedder(path); embedder != "" {
		ref = st.Nodes[embedder].Input
	}
	if ref == nil {
		return event.Ref{}, false
	}
	return *ref, true
}

// Load reads the artifact. One of another major version than the contract of its node has is an error.
func (in Input) Load(d *store.Dir) (Artifact, error) {
	a, err := Load(d, in.Ref)
	if err == nil && in.contract != nil {
		err = a.Of(in.contract)
	}
	return a, err
}

// Effective is the effective input of a node: the fields of its input artifact over those of what its pipeline began
// with. It is what requires, skip_when, carry, defaults_from and wraps see.
type Effective struct {
	From string         // as in [Input]; "" where there is no artifact at all
	Data map[string]any // never nil; the caller may change the map, but not the values in it
}

// EffectiveInput reads the effective input of the node at a place. The error is about an artifact that cannot be read.
func EffectiveInput(d *store.Dir, p *plan.Plan, st state.State, n *plan.Node, at event.Location) (Effective, error) {
	e := Effective{Data: map[string]any{}}
	in, has := InputOf(p, st, n, at)
	if !has {
		return e, nil
	}
	e.From = in.From
	layers := []Input{in}
	if ref, began := StartOf(p, st, at.Outer()); began && in.From != plan.RequiresStart {
		layers = []Input{{From: plan.RequiresStart, Ref: ref}, in}
	}
	for _, layer := range layers {
		a, err := layer.Load(d)
		if err != nil {
			return e, err
		}
		maps.Copy(e.Data, a.Data)
	}
	return e, nil
}

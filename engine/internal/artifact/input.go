package artifact

import (
	"maps"
	"slices"

	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/kernel/state"
	"github.com/dodo-digital/agent-pipelines/kernel/store"
)

// Input is a node's input artifact.
type Input struct {
	// From is the id of the node that made the artifact, or for which the user supplied it. It is [plan.RequiresStart] for
	// the start artifact of the run or of the node's pipeline.
	From string
	Ref  event.Ref

	contract *plan.Artifact // of the node in From; nil without a contract
}

// FindInput returns the input artifact of the node at a location. It is the artifact of the node in inputs.from, else
// of the node from which the run entered, else of the nearest earlier node. Without these it is the pipeline's start
// artifact. FindInput returns false if there is none.
func FindInput(p *plan.Plan, st state.State, n *plan.Node, at event.Location) (Input, bool) {
	siblings, position := p.Siblings(at.Outer())
	inputAt := func(i int) (Input, bool) {
		if i < 0 {
			return Input{}, false
		}
		ref, has := st.NodeArtifact(siblings[i].Path)
		return Input{From: siblings[i].ID, Ref: ref, contract: siblings[i].Artifact}, has
	}
	named := slices.IndexFunc(siblings, func(s plan.Node) bool { return s.ID == n.Inputs.From() })
	entered := slices.IndexFunc(siblings, func(s plan.Node) bool { return s.Path == st.Nodes[at.Outer()].From })
	candidates := []int{named, entered}
	for i := position - 1; i >= 0; i-- {
		candidates = append(candidates, i)
	}
	for _, i := range candidates {
		if in, has := inputAt(i); has {
			return in, true
		}
	}
	ref, has := StartArtifact(p, st, at.Outer())
	return Input{From: plan.RequiresStart, Ref: ref}, has
}

// StartArtifact returns the start artifact of the pipeline that contains the node at path. It is the run's input, or the
// input of the node that embeds the pipeline. StartArtifact returns false if there is none.
func StartArtifact(p *plan.Plan, st state.State, path string) (event.Ref, bool) {
	ref := st.Input
	if embedder := p.Embedder(path); embedder != "" {
		ref = st.Nodes[embedder].Input
	}
	if ref == nil {
		return event.Ref{}, false
	}
	return *ref, true
}

// Load reads the artifact. A major version other than that of its node's contract is an error.
func (in Input) Load(d *store.Dir) (Artifact, error) {
	a, err := Load(d, in.Ref)
	if err == nil && in.contract != nil {
		err = a.CheckVersion(in.contract)
	}
	return a, err
}

// NodeInput is the effective input of a node: the fields of its input artifact over those of its pipeline's start
// artifact. requires, skip_when, carry, defaults_from and wraps read it.
type NodeInput struct {
	From string         // as in [Input]; "" without any artifact
	Data map[string]any // never nil; the caller may change the map, but not the values in it
}

// ReadNodeInput reads the effective input of the node at a location. The error is about an unreadable artifact.
func ReadNodeInput(d *store.Dir, p *plan.Plan, st state.State, n *plan.Node, at event.Location) (NodeInput, error) {
	e := NodeInput{Data: map[string]any{}}
	in, has := FindInput(p, st, n, at)
	if !has {
		return e, nil
	}
	e.From = in.From
	layers := []Input{in}
	if ref, hasStart := StartArtifact(p, st, at.Outer()); hasStart && in.From != plan.RequiresStart {
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

package inputs

import (
	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/state"
)

// NodeOutputs returns the absolute paths of all outputs of a node's newest visit; see fromNode for blocks and
// embedded pipelines.
func (r *Reader) NodeOutputs(st state.State, path string) ([]string, error) {
	l, err := r.fromNode(st, path, history)
	return l.paths, err
}

// Initial returns the absolute paths of the input files of the pipeline that contains the node at path: the
// pipeline's own, and those from the inputs of the node that embeds it.
func (r *Reader) Initial(st state.State, path string) ([]string, error) {
	holder, embedder := r.plan.Holder(path)
	all := append([]string{}, holder.Session.Inputs...)
	n := r.plan.Find(embedder)
	if n == nil {
		return all, nil
	}
	if from := n.Inputs.From(); from != "" {
		outputs, err := r.fromStage(st, event.Location{Node: embedder}, from, n.Inputs.Select())
		if err != nil {
			return nil, err
		}
		all = append(all, outputs.paths...)
	}
	parallel, err := r.fromParallel(st, n.Inputs["from_parallel"], embedder)
	if err != nil {
		return nil, err
	}
	return append(all, parallel.outputs()...), nil
}

// outputs returns all selected outputs of the sources, in order.
func (f FromParallel) outputs() []string {
	var all []string
	for _, s := range f.sources {
		for _, p := range s.Providers {
			switch {
			case len(p.Value.History) > 0:
				all = append(all, p.Value.History...)
			case p.Value.Output != "":
				all = append(all, p.Value.Output)
			}
		}
	}
	return all
}

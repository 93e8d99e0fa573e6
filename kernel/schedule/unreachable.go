package schedule

import (
	"slices"

	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/kernel/state"
)

// UnreachableReason returns why the run never enters the node at path: its pipeline is complete after an earlier node,
// or the run began after it. It is "" for a node that was entered or may still be.
func UnreachableReason(p *plan.Plan, s state.State, path string) string {
	if _, entered := s.Nodes[path]; entered {
		return ""
	}
	for at := path; at != ""; at = p.Embedder(at) {
		holder, embedder := p.Holder(at)
		siblings, i := p.Siblings(at)
		exit := nodeIndex(siblings, holder.ExitAfter())
		if exit >= 0 && exit < i && s.Nodes[siblings[exit].Path].EndedSuccessfully() {
			return "the pipeline was complete after " + siblings[exit].ID
		}
		if embedder == "" && i < nodeIndex(siblings, startNode(p)) {
			return "the run began with " + startNode(p)
		}
	}
	return ""
}

// startNode returns the id of the node with which the run was asked to begin, "" for the first node.
func startNode(p *plan.Plan) string {
	if o := p.Pipeline.Overrides; o != nil {
		return o.Start
	}
	return ""
}

// nodeIndex returns the position of the node with an id, -1 for none.
func nodeIndex(nodes []plan.Node, id string) int {
	return slices.IndexFunc(nodes, func(n plan.Node) bool { return n.ID == id && id != "" })
}

// exitNode returns the id of the node at which the pipeline ended early, "" if it ran to the end of its list.
func exitNode(p *plan.Plan, s state.State) string {
	i := nodeIndex(p.Nodes, p.ExitAfter())
	if i < 0 || i == len(p.Nodes)-1 || !s.Nodes[p.Nodes[i].Path].EndedSuccessfully() {
		return ""
	}
	return p.Nodes[i].ID
}

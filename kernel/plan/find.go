package plan

import (
	"iter"
	"slices"
	"strings"
)

// findHead returns the node of the plan's own list that is at path or contains it, nil if there is none. below is the
// rest of the path, "" for the node itself.
func (p *Plan) findHead(path string) (n *Node, below string) {
	for i := range p.Nodes {
		n := &p.Nodes[i]
		if n.Path == path {
			return n, ""
		}
		if below, inside := strings.CutPrefix(path, n.Path+"."); inside && below != "" {
			return n, below
		}
	}
	return nil, ""
}

// Find returns the node with the given path ("0", "2.1"), nil if there is none. A node of an embedded plan is
// returned as a copy whose paths, including those of block stages, are relative to the whole plan.
func (p *Plan) Find(path string) *Node {
	switch n, below := p.findHead(path); {
	case n == nil || below == "":
		return n
	case n.Plan != nil:
		return n.Plan.Find(below).withPrefix(n.Path)
	default:
		return findStage(n, path)
	}
}

func findStage(block *Node, path string) *Node {
	for i := range block.Stages {
		if block.Stages[i].Path == path {
			return &block.Stages[i]
		}
	}
	return nil
}

// All yields every node of the plan in list order, with paths relative to the whole plan. Nodes of an embedded plan
// follow the node that embeds them. It omits the stages of blocks.
func (p *Plan) All() iter.Seq[*Node] {
	return func(yield func(*Node) bool) { p.yieldNodes("", yield) }
}

// Hooks yields the hooks of the plan and of the plans that it embeds.
func (p *Plan) Hooks() iter.Seq[*Hook] {
	return func(yield func(*Hook) bool) {
		plans := []*Plan{p}
		for n := range p.All() {
			if n.Plan != nil {
				plans = append(plans, n.Plan)
			}
		}
		for _, holder := range plans {
			for i := range holder.Pipeline.Hooks {
				if !yield(&holder.Pipeline.Hooks[i]) {
					return
				}
			}
		}
	}
}

func (p *Plan) yieldNodes(outer string, yield func(*Node) bool) bool {
	for i := range p.Nodes {
		n := &p.Nodes[i]
		if outer != "" {
			n = n.withPrefix(outer)
		}
		if !yield(n) || n.Plan != nil && !n.Plan.yieldNodes(n.Path, yield) {
			return false
		}
	}
	return true
}

// Next returns the path of the node that follows path in its list, "" after the last node.
func (p *Plan) Next(path string) string {
	n, below := p.findHead(path)
	switch {
	case n == nil:
		return ""
	case below != "" && n.Plan != nil:
		if next := n.Plan.Next(below); next != "" {
			return n.Path + "." + next
		}
	case below == "":
		if i := p.Index(path) + 1; i < len(p.Nodes) {
			return p.Nodes[i].Path
		}
	}
	return ""
}

// Embedder returns the path of the pipeline node that embeds the plan of the node at path, "" for a node of this plan
// itself.
func (p *Plan) Embedder(path string) string {
	_, outer := p.Holder(path)
	return outer
}

// Siblings returns the nodes of the list that contains the node at path, and its position, -1 if there is none. The
// paths are relative to the whole plan.
func (p *Plan) Siblings(path string) (nodes []Node, position int) {
	holder, embedder := p.Holder(path)
	if embedder == "" {
		return p.Nodes, p.Index(path)
	}
	for i := range holder.Nodes {
		nodes = append(nodes, *holder.Nodes[i].withPrefix(embedder))
	}
	return nodes, slices.IndexFunc(nodes, func(n Node) bool { return n.Path == path })
}

// Holder returns the plan whose list contains the node at path: this plan or an embedded plan. embedder is the path
// of the pipeline node that embeds holder, "" for this plan.
func (p *Plan) Holder(path string) (holder *Plan, embedder string) {
	n, below := p.findHead(path)
	if below == "" || n.Plan == nil {
		return p, ""
	}
	holder, embedder = n.Plan.Holder(below)
	if embedder == "" {
		return holder, n.Path
	}
	return holder, n.Path + "." + embedder
}

// Index returns the position of the top-level node with the given path, -1 if there is none.
func (p *Plan) Index(path string) int {
	return slices.IndexFunc(p.Nodes, func(n Node) bool { return n.Path == path })
}

// MaxRuns returns how often a pipeline node runs its plan. A pipeline node inside another runs once, because a
// location has only one run number.
func (p *Plan) MaxRuns(n *Node) int {
	if p.Embedder(n.Path) != "" {
		return 1
	}
	return max(n.Runs, 1)
}

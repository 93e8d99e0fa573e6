package graph

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/dodo-digital/agent-pipelines/cmd/agent-pipelines/internal/screen"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
)

// Graph is a pipeline as it is drawn.
type Graph struct {
	Name  string `json:"name"`
	Nodes []Node `json:"nodes"`
	Edges []Edge `json:"edges"` // in the order of their nodes, the edge to the next node first
}

// Node is a box.
type Node struct {
	ID    string   `json:"id"`              // the node's id
	Notes []string `json:"notes,omitempty"` // a few words each: its work, its repeats, its provider
	// Inside are the boxes within: the providers of a block, the nodes of an embedded pipeline. No edges lead to them.
	Inside []Node `json:"inside,omitempty"`
	// Out reports whether the command line leaves the node out, so that the run never visits it.
	Out bool `json:"left_out,omitempty"`
}

// Edge leads from a node to another node or to an end.
type Edge struct {
	From  int    `json:"from"`            // the number of a node, from 0
	To    int    `json:"to"`              // the number of a node, -1 for an end
	End   string `json:"end,omitempty"`   // the word of the end: done, pause, abort or failed; "" for a node
	Label string `json:"label,omitempty"` // the outcomes that lead here, "" for the unlabelled edge to the next node
	Limit int    `json:"limit,omitempty"` // how often it may be taken, 0 for an edge that is not counted
}

// Text returns the label of the edge: "fail, reject (at most 3 times)", "" for the plain path forward.
func (e Edge) Text() string {
	switch {
	case e.Limit == 1:
		return e.Label + " (once)"
	case e.Limit > 0:
		return fmt.Sprintf("%s (at most %d times)", e.Label, e.Limit)
	default:
		return e.Label
	}
}

// FromPlan returns the graph of a plan. Implicit transitions (a failure ends the run) are not drawn.
func FromPlan(p *plan.Plan) Graph {
	g := Graph{Name: p.Pipeline.Name}
	for i := range p.Nodes {
		n := &p.Nodes[i]
		node := newNode(n)
		node.Out = p.Skipped(n)
		g.Nodes = append(g.Nodes, node)
		for _, o := range outcomes(n) {
			g.add(newEdge(p, i, n, o))
		}
	}
	return g
}

// outcomes returns the outcomes whose edges are drawn: success, then the written outcomes. The one edge of
// a node without written outcomes has no label.
func outcomes(n *plan.Node) []plan.Outcome {
	written := slices.Sorted(maps.Keys(n.Transitions))
	written = slices.DeleteFunc(written, func(o plan.Outcome) bool { return o == plan.OutcomeSuccess })
	return append([]plan.Outcome{plan.OutcomeSuccess}, written...)
}

func newEdge(p *plan.Plan, from int, n *plan.Node, o plan.Outcome) Edge {
	route := p.Route(n, o)
	e := Edge{From: from, To: p.Index(route.To), Label: string(o), Limit: 0}
	switch {
	case route.To == plan.ToRetry:
		e.To = from
	case e.To < 0:
		e.End = route.To
	}
	if route.Name != "" {
		e.Limit = route.Limit
	}
	if len(n.Transitions) == 0 {
		e.Label = ""
	}
	return e
}

// add adds an edge. Outcomes that lead to the same place share an edge.
func (g *Graph) add(e Edge) {
	for i := range g.Edges {
		old := &g.Edges[i]
		if old.From == e.From && old.To == e.To && old.End == e.End && old.Limit == e.Limit && old.Label != "" && e.Label != "" {
			old.Label += ", " + e.Label
			return
		}
	}
	g.Edges = append(g.Edges, e)
}

func newNode(n *plan.Node) Node {
	node := Node{ID: n.ID}
	note := func(text string) {
		if text = strings.Join(strings.Fields(text), " "); text != "" {
			node.Notes = append(node.Notes, text)
		}
	}
	switch {
	case n.Kind == plan.KindParallel:
		note("side by side")
		for i := range n.Providers {
			node.Inside = append(node.Inside, newBranch(n, &n.Providers[i]))
		}
	case n.Kind == plan.KindPipeline:
		if n.Ref != n.ID {
			note("pipeline " + n.Ref)
		}
		if n.Runs > 1 {
			note(fmt.Sprintf("%d runs", n.Runs))
		}
		for i := range n.Plan.Nodes {
			node.Inside = append(node.Inside, newNode(&n.Plan.Nodes[i]))
		}
	case n.WrapsCommand():
		note("command")
	default:
		if n.Ref != n.ID {
			note(n.Ref)
		}
		if n.Provider != nil {
			note(n.Provider.EventName())
		}
		note(terminationText(n.Termination))
	}
	if n.Steps != nil {
		note("a step for each of " + n.Steps.Path + " of " + n.Steps.From)
	}
	if len(n.Checks) > 0 {
		note(screen.Plural(len(n.Checks), "check"))
	}
	if n.SkipWhen != "" {
		note("skipped when " + screen.Cut(strings.Join(strings.Fields(n.SkipWhen), " "), maxNote))
	}
	return node
}

// newBranch describes one provider of a block: the stages of the block, one after the other.
func newBranch(n *plan.Node, b *plan.BlockProvider) Node {
	var stages []string
	for i := range n.Stages {
		stages = append(stages, n.Stages[i].ID)
	}
	return Node{ID: b.ID(), Notes: []string{strings.Join(stages, " → ")}}
}

// terminationText describes how often a stage is iterated, "" for once.
func terminationText(t plan.Termination) string {
	most := t.Max()
	switch kind := t.Type(); {
	case kind == plan.TypeFixed && most == 1:
		return ""
	case kind == plan.TypeFixed && most > 1:
		return screen.Plural(most, "iteration")
	case most > 0:
		return fmt.Sprintf("%s, at most %d", kind, most)
	default:
		return kind
	}
}

// maxNote bounds the text of a condition, in columns.
const maxNote = 48

// back reports whether an edge leads to its own node or to an earlier node.
func (e Edge) back() bool { return e.End == "" && e.To <= e.From }

// ends returns the ends of the pipeline that edges lead to, each once, in the order of the edges.
func (g Graph) ends() []string {
	var words []string
	for _, e := range g.Edges {
		if e.End != "" && !slices.Contains(words, e.End) {
			words = append(words, e.End)
		}
	}
	return words
}

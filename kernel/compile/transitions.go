package compile

import (
	"cmp"
	"slices"
	"strings"

	"github.com/dodo-digital/agent-pipelines/kernel/dialect"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/kernel/sources"
	"github.com/dodo-digital/agent-pipelines/kernel/yamldoc"
)

// graph holds the nodes of one pipeline file and their edges.
type graph struct {
	*compiler
	dialect.Map                // of the file
	sources     []sources.Node // the nodes as written
	nodes       []*plan.Node   // the compiled nodes; nil for a node that cannot be compiled
	edges       [][]edge       // edges of each node
	complete    bool           // all edges are valid and have a target
}

// newGraph reads the edges of the nodes and reports their faults.
func newGraph(c *compiler, m dialect.Map, list []sources.Node) *graph {
	f := &graph{compiler: c, Map: m, sources: list, nodes: make([]*plan.Node, len(list)), edges: make([][]edge, len(list)), complete: true}
	ids := sources.NodeIDs(list)
	f.complete = len(ids) == len(list)
	for i, a := range list {
		edges, whole := readTransitions(a)
		for _, e := range edges {
			whole = e.checkTarget(slices.Index(ids, a.ID), ids) && whole
		}
		f.edges[i], f.complete = edges, f.complete && whole
	}
	return f
}

// check reports the faults of the graph. p is the plan of the nodes.
func (f *graph) check(p *plan.Plan) {
	outermost := len(f.includeStack) == 1
	f.checkSteps()
	f.checkRequires()
	f.checkExit(p.Pipeline.ExitAfter)
	for i, n := range f.nodes {
		if n == nil {
			continue
		}
		most := p.CycleLimits(n)
		for _, e := range f.edges[i] {
			e.checkLimit(most)
			if n.SkipWhen != "" && e.outcome == plan.OutcomeSkip {
				e.checkSkipEdge(p.Route(n, e.outcome), n.ID)
			}
		}
	}
	if outermost && !slices.Contains(f.nodes, nil) {
		checkFlags(f.compiler, p)
	}
	if !f.complete || len(f.sources) == 0 {
		return // the following checks would mislead
	}
	full := traversal{exit: -1}
	if !f.checkReached(full) {
		return
	}
	at := f.Location(f.Get("exit_after"))
	if f.checkRequired(full, nil) {
		f.checkRequired(traversal{exit: f.position(p.Pipeline.ExitAfter)}, &at)
	}
	if outermost {
		f.checkTraversal(p)
	}
}

// position returns the index of the node with an id; -1 for none.
func (f *graph) position(id string) int {
	return slices.IndexFunc(f.sources, func(a sources.Node) bool { return a.ID == id && id != "" })
}

// checkExit reports an exit_after that names no node.
func (f *graph) checkExit(id string) {
	if ids := sources.NodeIDs(f.sources); id != "" && !slices.Contains(ids, id) {
		f.Location(f.Get("exit_after")).Errorf(yamldoc.CodeNode, dialect.DidYouMean(id, ids), "exit_after names unknown node %q", id)
	}
}

// traversal describes how a run walks the graph.
type traversal struct {
	skip  []string // ids of skipped nodes
	start int      // index of the first node
	exit  int      // index of the node after whose success the pipeline is complete; -1 for none
}

// end returns the index after the last node, which stands for the end of the pipeline.
func (f *graph) end() int { return len(f.sources) }

// successors returns the indexes that node i leads to, [graph.end] for the end. A skipped node follows its edge
// for skip; an exit node that succeeds leads to the end.
func (f *graph) successors(i int, t traversal) []int {
	skipped, exits := slices.Contains(t.skip, f.sources[i].ID), i == t.exit
	explicit, natural := false, plan.OutcomeSuccess
	if skipped {
		natural = plan.OutcomeSkip
	}
	var to []int
	for _, e := range f.edges[i] {
		if skipped && e.outcome != plan.OutcomeSkip || exits && (e.outcome == plan.OutcomeSuccess || e.outcome == plan.OutcomeSkip) {
			continue
		}
		explicit = explicit || e.outcome == natural
		switch e.To {
		case plan.ToNext:
			to = append(to, i+1)
		case plan.ToDone:
			to = append(to, f.end())
		case plan.ToRetry, plan.ToPause, plan.ToAbort, plan.ToFailed:
		default:
			to = append(to, f.position(e.To))
		}
	}
	switch {
	case exits:
		to = append(to, f.end())
	case !explicit:
		to = append(to, i+1)
	}
	return to
}

// shortestPaths returns the shortest paths from the first node that avoid the node without (-1: none). from[i] is the
// predecessor of i; -1 if i cannot be reached.
func (f *graph) shortestPaths(without int, t traversal) (from []int) {
	from = slices.Repeat([]int{-1}, f.end()+1)
	if without == t.start {
		return from
	}
	from[t.start] = t.start
	for queue := []int{t.start}; len(queue) > 0; queue = queue[1:] {
		for _, to := range f.successors(queue[0], t) {
			if to == without || from[to] >= 0 {
				continue
			}
			from[to] = queue[0]
			if to != f.end() {
				queue = append(queue, to)
			}
		}
	}
	return from
}

// checkReached reports nodes that cannot be reached, and a pipeline whose end cannot be reached.
func (f *graph) checkReached(t traversal) bool {
	from, fine := f.shortestPaths(-1, t), true
	for i, a := range f.sources {
		if from[i] < 0 {
			fine = false
			a.IDAt.Errorf(yamldoc.CodeFlow, "let an edge lead to it, or remove it", "node %q is never reached: no edge leads to it", a.ID)
		}
	}
	if from[f.end()] < 0 {
		fine = false
		location := f.Location(f.Get("nodes", "stages"))
		location.Errorf(yamldoc.CodeFlow, "let an edge for success lead to done", "no path through the nodes leads to done")
	}
	return fine
}

// checkRequired reports the paths to the end that avoid a required node. at is the location of the fault; nil: the
// key required of the node.
func (f *graph) checkRequired(t traversal, at *dialect.Location) (fine bool) {
	fine = true
	for i, n := range f.nodes {
		if n == nil || n.Policy == nil || !n.Policy.Required || slices.Contains(t.skip, n.ID) {
			continue
		}
		from := f.shortestPaths(i, t)
		if from[f.end()] < 0 {
			continue
		}
		fine = false
		policy, _ := f.sources[i].Peek("policy")
		keyLocation := policy.At(policy.KeyPos("required"))
		hint := "let every edge pass through it, or remove required"
		cmp.Or(at, &keyLocation).Errorf(yamldoc.CodeRequired, hint, "required node %q is left out on the path %s", n.ID, f.pathText(from, t))
	}
	return fine
}

// pathText renders the path to the end; from is a result of [graph.shortestPaths].
func (f *graph) pathText(from []int, t traversal) string {
	names := []string{plan.ToDone}
	for i := from[f.end()]; ; i = from[i] {
		names = append(names, f.sources[i].ID)
		if i == t.start {
			break
		}
	}
	slices.Reverse(names)
	return strings.Join(names, " → ")
}

// checkSteps checks that the steps of each node come from an earlier node with an artifact.
func (f *graph) checkSteps() {
	for i, n := range f.nodes {
		if n == nil || n.Steps == nil || n.Steps.From == "" {
			continue
		}
		inner, _ := f.sources[i].Peek("steps")
		at, from := inner.Location(inner.Get("from")), n.Steps.From
		source := slices.IndexFunc(f.sources, func(a sources.Node) bool { return a.ID == from })
		switch {
		case source < 0:
			at.Errorf(yamldoc.CodeSteps, dialect.DidYouMean(from, f.artifactNodes(i)), "steps.from names unknown node %q", from)
		case source >= i:
			at.Errorf(yamldoc.CodeSteps, "move that node up, or use the steps of an earlier one", "steps.from names %q, which does not run before this node", from)
		case f.nodes[source] != nil && !f.nodes[source].MakesArtifact():
			at.Errorf(yamldoc.CodeSteps, "give that node an artifact", "steps.from names %q, which has no artifact", from)
		}
	}
}

// artifactNodes returns the ids of the nodes before number i that have an artifact.
func (f *graph) artifactNodes(i int) []string {
	var ids []string
	for _, n := range f.nodes[:i] {
		if n != nil && n.MakesArtifact() {
			ids = append(ids, n.ID)
		}
	}
	return ids
}

// checkRequires reports requirements that name unknown nodes, nodes without a path to the node, or nodes without an
// artifact.
func (f *graph) checkRequires() {
	ids := sources.NodeIDs(f.sources)
	for i, a := range f.sources {
		inner, ok := a.Peek("requires")
		if !ok {
			continue
		}
		for _, e := range inner.Node.Entries {
			source := slices.Index(ids, e.Key)
			switch {
			case e.Key == plan.RequiresAny || e.Key == plan.RequiresStart:
			case source < 0:
				inner.Errorf(e.KeyPos, yamldoc.CodeNode, dialect.DidYouMean(e.Key, append([]string{plan.RequiresAny, plan.RequiresStart}, ids...)), "requires names unknown node %q", e.Key)
			case len(ids) < len(f.sources) || !f.complete: // the following checks would mislead
			case !f.hasPath(source, i):
				inner.Warnf(e.KeyPos, yamldoc.CodeNoEffect, "remove it, or let an edge lead here", "the requirement of %q has no effect: no path leads from there to %q", e.Key, a.ID)
			case f.nodes[source] != nil && f.nodes[source].Kind == plan.KindStage && f.nodes[source].Artifact == nil:
				inner.Warnf(e.KeyPos, yamldoc.CodeNoEffect, "give that node an artifact", "the requirement of %q has no effect: it has no artifact", e.Key)
			}
		}
	}
}

// hasPath reports whether a path leads from one node to another, or back to itself.
func (f *graph) hasPath(from, to int) bool {
	seen := make([]bool, f.end()+1)
	for queue := []int{from}; len(queue) > 0; queue = queue[1:] {
		for _, next := range f.successors(queue[0], traversal{exit: -1}) {
			if next == to {
				return true
			}
			if next < f.end() && !seen[next] {
				seen[next] = true
				queue = append(queue, next)
			}
		}
	}
	return false
}

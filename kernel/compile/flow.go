package compile

import (
	"cmp"
	"slices"
	"strings"

	"github.com/dodo-digital/agent-pipelines/kernel/diagnostic"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
)

// graph is how the nodes of one pipeline file follow each other.
type graph struct {
	*compiler
	object                // of the file
	sources  []nodeSource // its nodes
	nodes    []*plan.Node // what they were compiled to, nil for one with faults
	edges    [][]edge     // of each node
	complete bool         // all edges could be read and lead somewhere
}

// newGraph reads the edges of the nodes.
func newGraph(c *compiler, m object, list []nodeSource) *graph {
	f := &graph{compiler: c, object: m, sources: list, nodes: make([]*plan.Node, len(list)), edges: make([][]edge, len(list)), complete: true}
	ids := nodeIDs(list)
	f.complete = len(ids) == len(list)
	for i, a := range list {
		edges, whole := a.transitions()
		for _, e := range edges {
			whole = e.checkTarget(slices.Index(ids, a.id), ids) && whole
		}
		f.edges[i], f.complete = edges, f.complete && whole
	}
	return f
}

// check reports what is wrong with the way through the nodes of p, which were compiled from the list.
func (f *graph) check(p *plan.Plan) {
	outermost := len(f.includeStack) == 1
	f.checkSteps()
	f.checkRequires()
	f.checkExit(p.Pipeline.ExitAfter)
	for i, n := range f.nodes {
		if n == nil {
			continue
		}
		most := p.CyclesOf(n)
		for _, e := range f.edges[i] {
			e.checkLimit(most)
			if n.SkipWhen != "" && e.outcome == plan.OutcomeSkip {
				e.checkSkipEdge(p.RouteOf(n, e.outcome), n.ID)
			}
		}
	}
	if outermost && !slices.Contains(f.nodes, nil) {
		f.checkFlags(p)
	}
	if !f.complete || len(f.sources) == 0 {
		return // what follows would be said of a way that nobody meant
	}
	full := traversal{exit: -1}
	if !f.checkReached(full) {
		return
	}
	at := f.location(f.get("exit_after"))
	if f.checkRequired(full, nil) {
		f.checkRequired(traversal{exit: f.position(p.Pipeline.ExitAfter)}, &at)
	}
	if outermost {
		f.checkTraversal(p)
	}
}

// position is that of the node with an id, -1 for none.
func (f *graph) position(id string) int {
	return slices.IndexFunc(f.sources, func(a nodeSource) bool { return a.id == id && id != "" })
}

// checkExit looks for the node after which the file says that the pipeline is complete.
func (f *graph) checkExit(id string) {
	if ids := nodeIDs(f.sources); id != "" && !slices.Contains(ids, id) {
		f.location(f.get("exit_after")).errorf(diagnostic.CodeNode, didYouMean(id, ids), "exit_after names unknown node %q", id)
	}
}

// traversal is what a run makes of the ways through the nodes.
type traversal struct {
	skip  []string // the ids of those that are left out
	start int      // the position of the first one
	exit  int      // of the one that ends the pipeline when it ends well, -1 for none
}

// end is the position of the end of the list.
func (f *graph) end() int { return len(f.sources) }

// successors are the positions that node number i leads to, [flow.done] for the end. A node that is skipped leads where its
// edge for that says, and one that ends the pipeline nowhere else when it ends well.
func (f *graph) successors(i int, of traversal) []int {
	skipped, exits := slices.Contains(of.skip, f.sources[i].id), i == of.exit
	said, natural := false, plan.OutcomeSuccess
	if skipped {
		natural = plan.OutcomeSkip
	}
	var to []int
	for _, e := range f.edges[i] {
		if skipped && e.outcome != plan.OutcomeSkip || exits && (e.outcome == plan.OutcomeSuccess || e.outcome == plan.OutcomeSkip) {
			continue
		}
		said = said || e.outcome == natural
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
	case !said:
		to = append(to, i+1)
	}
	return to
}

// shortestPaths finds the shortest way from the first node to each that can be reached without node number without, -1 for
// none: from[i] is the position before i, -1 for one that is not reached.
func (f *graph) shortestPaths(without int, of traversal) (from []int) {
	from = slices.Repeat([]int{-1}, f.end()+1)
	if without == of.start {
		return from
	}
	from[of.start] = of.start
	for queue := []int{of.start}; len(queue) > 0; queue = queue[1:] {
		for _, to := range f.successors(queue[0], of) {
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

// checkReached reports nodes that no way leads to, and a pipeline without a way to its end.
func (f *graph) checkReached(of traversal) bool {
	from, fine := f.shortestPaths(-1, of), true
	for i, a := range f.sources {
		if from[i] < 0 {
			fine = false
			a.idAt.errorf(diagnostic.CodeFlow, "let an edge lead to it, or remove it", "node %q is never reached: no edge leads to it", a.id)
		}
	}
	if from[f.end()] < 0 {
		fine = false
		at := f.location(f.get("nodes", "stages"))
		at.errorf(diagnostic.CodeFlow, "let an edge for success lead to done", "no way through the nodes leads to done")
	}
	return fine
}

// checkRequired reports the ways to the end that leave out a node that is required. at is where the course was said,
// nil: where the node says that it is required.
func (f *graph) checkRequired(of traversal, at *location) (fine bool) {
	fine = true
	for i, n := range f.nodes {
		if n == nil || n.Policy == nil || !n.Policy.Required || slices.Contains(of.skip, n.ID) {
			continue
		}
		from := f.shortestPaths(i, of)
		if from[f.end()] < 0 {
			continue
		}
		fine = false
		policy, _ := f.sources[i].peek("policy")
		own := location{policy.document, policy.keyPos("required")}
		hint := "let every edge lead through it, or remove required"
		cmp.Or(at, &own).errorf(diagnostic.CodeRequired, hint, "required node %q is left out on the way %s", n.ID, f.pathText(from, of))
	}
	return fine
}

// pathText spells the way to the end.
func (f *graph) pathText(from []int, of traversal) string {
	names := []string{plan.ToDone}
	for i := from[f.end()]; ; i = from[i] {
		names = append(names, f.sources[i].id)
		if i == of.start {
			break
		}
	}
	slices.Reverse(names)
	return strings.Join(names, " → ")
}

package compile

import (
	"cmp"
	"slices"
	"strings"

	"github.com/dodo-digital/agent-pipelines/kernel/diagnostic"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
)

// flow is how the nodes of one pipeline file follow each other.
type flow struct {
	*compiler
	mapping              // of the file
	list    []authored   // its nodes
	nodes   []*plan.Node // what they were compiled to, nil for one with faults
	edges   [][]edge     // of each node
	whole   bool         // all edges could be read and lead somewhere
}

// newFlow reads the edges of the nodes.
func newFlow(c *compiler, m mapping, list []authored) *flow {
	f := &flow{compiler: c, mapping: m, list: list, nodes: make([]*plan.Node, len(list)), edges: make([][]edge, len(list)), whole: true}
	ids := idsOf(list)
	f.whole = len(ids) == len(list)
	for i, a := range list {
		edges, whole := a.transitions()
		for _, e := range edges {
			whole = e.checkTarget(slices.Index(ids, a.id), ids) && whole
		}
		f.edges[i], f.whole = edges, f.whole && whole
	}
	return f
}

// check reports what is wrong with the way through the nodes of p, which were compiled from the list.
func (f *flow) check(p *plan.Plan) {
	outermost := len(f.open) == 1
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
		f.checkNamed(p)
	}
	if !f.whole || len(f.list) == 0 {
		return // what follows would be said of a way that nobody meant
	}
	full := course{exit: -1}
	if !f.checkReached(full) {
		return
	}
	at := f.place(f.get("exit_after"))
	if f.checkRequired(full, nil) {
		f.checkRequired(course{exit: f.position(p.Pipeline.ExitAfter)}, &at)
	}
	if outermost {
		f.checkCourse(p)
	}
}

// position is that of the node with an id, -1 for none.
func (f *flow) position(id string) int {
	return slices.IndexFunc(f.list, func(a authored) bool { return a.id == id && id != "" })
}

// checkExit looks for the node after which the file says that the pipeline is complete.
func (f *flow) checkExit(id string) {
	if ids := idsOf(f.list); id != "" && !slices.Contains(ids, id) {
		f.place(f.get("exit_after")).errorf(diagnostic.CodeNode, didYouMean(id, ids), "exit_after names unknown node %q", id)
	}
}

// course is what a run makes of the ways through the nodes.
type course struct {
	skip  []string // the ids of those that are left out
	start int      // the position of the first one
	exit  int      // of the one that ends the pipeline when it ends well, -1 for none
}

// done is the position of the end of the list.
func (f *flow) done() int { return len(f.list) }

// after are the positions that node number i leads to, [flow.done] for the end. A node that is skipped leads where its
// edge for that says, and one that ends the pipeline nowhere else when it ends well.
func (f *flow) after(i int, of course) []int {
	skipped, exits := slices.Contains(of.skip, f.list[i].id), i == of.exit
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
			to = append(to, f.done())
		case plan.ToRetry, plan.ToPause, plan.ToAbort, plan.ToFailed:
		default:
			to = append(to, f.position(e.To))
		}
	}
	switch {
	case exits:
		to = append(to, f.done())
	case !said:
		to = append(to, i+1)
	}
	return to
}

// ways finds the shortest way from the first node to each that can be reached without node number without, -1 for
// none: from[i] is the position before i, -1 for one that is not reached.
func (f *flow) ways(without int, of course) (from []int) {
	from = slices.Repeat([]int{-1}, f.done()+1)
	if without == of.start {
		return from
	}
	from[of.start] = of.start
	for queue := []int{of.start}; len(queue) > 0; queue = queue[1:] {
		for _, to := range f.after(queue[0], of) {
			if to == without || from[to] >= 0 {
				continue
			}
			from[to] = queue[0]
			if to != f.done() {
				queue = append(queue, to)
			}
		}
	}
	return from
}

// checkReached reports nodes that no way leads to, and a pipeline without a way to its end.
func (f *flow) checkReached(of course) bool {
	from, fine := f.ways(-1, of), true
	for i, a := range f.list {
		if from[i] < 0 {
			fine = false
			a.idAt.errorf(diagnostic.CodeFlow, "let an edge lead to it, or remove it", "node %q is never reached: no edge leads to it", a.id)
		}
	}
	if from[f.done()] < 0 {
		fine = false
		at := f.place(f.get("nodes", "stages"))
		at.errorf(diagnostic.CodeFlow, "let an edge for success lead to done", "no way through the nodes leads to done")
	}
	return fine
}

// checkRequired reports the ways to the end that leave out a node that is required. at is where the course was said,
// nil: where the node says that it is required.
func (f *flow) checkRequired(of course, at *place) (fine bool) {
	fine = true
	for i, n := range f.nodes {
		if n == nil || n.Policy == nil || !n.Policy.Required || slices.Contains(of.skip, n.ID) {
			continue
		}
		from := f.ways(i, of)
		if from[f.done()] < 0 {
			continue
		}
		fine = false
		policy, _ := f.list[i].quietly("policy")
		own := place{policy.document, policy.key("required")}
		hint := "let every edge lead through it, or remove required"
		cmp.Or(at, &own).errorf(diagnostic.CodeRequired, hint, "required node %q is left out on the way %s", n.ID, f.way(from, of))
	}
	return fine
}

// way spells the way to the end.
func (f *flow) way(from []int, of course) string {
	names := []string{plan.ToDone}
	for i := from[f.done()]; ; i = from[i] {
		names = append(names, f.list[i].id)
		if i == of.start {
			break
		}
	}
	slices.Reverse(names)
	return strings.Join(names, " → ")
}

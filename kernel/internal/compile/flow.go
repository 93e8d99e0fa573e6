package compile

import (
	"cmp"
	"slices"
	"strings"

	"github.com/dodo-digital/agent-pipelines/kernel/internal/diagnostic"
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
	for i, n := range f.nodes {
		if n == nil {
			continue
		}
		most := p.CyclesOf(n)
		for _, e := range f.edges[i] {
			e.checkLimit(most)
		}
	}
	if outermost && !slices.Contains(f.nodes, nil) {
		f.checkNamed(p)
	}
	if !f.whole || len(f.list) == 0 {
		return // what follows would be said of a way that nobody meant
	}
	if f.checkReached() {
		f.checkRequired(nil, nil)
	}
	if outermost && len(f.Overrides.Skip) > 0 {
		at := f.outside("--skip")
		f.checkRequired(f.Overrides.Skip, &at)
	}
}

// done is the position of the end of the list.
func (f *flow) done() int { return len(f.list) }

// after are the positions that node number i leads to, [flow.done] for the end. A node that is skipped leads where its
// edge for that says.
func (f *flow) after(i int, skip []string) []int {
	skipped := slices.Contains(skip, f.list[i].id)
	said, natural := false, plan.OutcomeSuccess
	if skipped {
		natural = plan.OutcomeSkip
	}
	var to []int
	for _, e := range f.edges[i] {
		if skipped && e.outcome != plan.OutcomeSkip {
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
			to = append(to, slices.IndexFunc(f.list, func(a authored) bool { return a.id == e.To }))
		}
	}
	if !said {
		to = append(to, i+1)
	}
	return to
}

// ways finds the shortest way from the first node to each that can be reached without node number without, -1 for
// none: from[i] is the position before i, -1 for one that is not reached.
func (f *flow) ways(without int, skip []string) (from []int) {
	from = slices.Repeat([]int{-1}, f.done()+1)
	if without == 0 {
		return from
	}
	from[0] = 0
	for queue := []int{0}; len(queue) > 0; queue = queue[1:] {
		for _, to := range f.after(queue[0], skip) {
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
func (f *flow) checkReached() bool {
	from, fine := f.ways(-1, nil), true
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

// checkRequired reports the ways to the end that leave out a node that is required. at is where what is skipped was
// named, nil: where the node says that it is required.
func (f *flow) checkRequired(skip []string, at *place) {
	for i, n := range f.nodes {
		if n == nil || n.Policy == nil || !n.Policy.Required || slices.Contains(skip, n.ID) {
			continue
		}
		from := f.ways(i, skip)
		if from[f.done()] < 0 {
			continue
		}
		policy, _ := f.list[i].quietly("policy")
		own := place{policy.document, policy.key("required")}
		cmp.Or(at, &own).errorf(diagnostic.CodeRequired, "let every edge lead through it, or remove required", "required node %q is left out on the way %s", n.ID, f.way(from))
	}
}

// way spells the way to the end.
func (f *flow) way(from []int) string {
	names := []string{plan.ToDone}
	for i := from[f.done()]; ; i = from[i] {
		names = append(names, f.list[i].id)
		if i == 0 {
			break
		}
	}
	slices.Reverse(names)
	return strings.Join(names, " → ")
}

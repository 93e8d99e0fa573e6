package recovery

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/kernel/state"
)

// Point is the place from which the user wants a session to continue.
type Point struct {
	Node      string // id or path of a node of the pipeline itself
	Iteration int    // of a stage, from 1; 0 for the next one according to the files
}

// ParsePoint reads "NODE" or "NODE:ITERATION".
func ParsePoint(text string) (Point, error) {
	node, number, hasNumber := strings.Cut(text, ":")
	p := Point{Node: node}
	if node == "" {
		return p, fmt.Errorf("%q names no node", text)
	}
	if !hasNumber {
		return p, nil
	}
	n, err := strconv.Atoi(number)
	if err != nil || n < 1 || n > maxIteration {
		return p, fmt.Errorf("invalid iteration %q: want a number from 1", number)
	}
	p.Iteration = n
	return p, nil
}

// Place returns the state of a run that continues at a point: the nodes before it are complete, the nodes after it were
// not entered. It keeps the facts of st about complete nodes before the point and about the point's stage. The error
// says that the plan has no such node, that the node has no iterations, or that a file cannot be read.
func (f *SessionFiles) Place(b Params, st state.State, at Point, now time.Time) (state.State, error) {
	i := slices.IndexFunc(b.Plan.Nodes, func(n plan.Node) bool { return n.ID == at.Node })
	if i < 0 {
		i = b.Plan.Index(at.Node)
	}
	if i < 0 {
		return st, fmt.Errorf("the plan has no node %q; its nodes are %s", at.Node, strings.Join(nodeIDs(b.Plan), ", "))
	}
	target := &b.Plan.Nodes[i]
	if target.Kind != plan.KindStage && at.Iteration > 0 {
		return st, fmt.Errorf("node %q is not a stage: it has no iterations of its own", target.ID)
	}
	o := &summary{runID: st.RunID, started: cmp.Or(st.StartedAt, now), at: target.Path, run: st.Run, runs: st.Runs, nodes: map[string]*work{}}
	fresh, err := restorer{f, b}.build(o)
	if err != nil {
		return st, err
	}
	for path, n := range st.Nodes {
		top, _, _ := strings.Cut(path, ".")
		if j := b.Plan.Index(top); j >= 0 && j < i && n.Status == state.NodeComplete {
			fresh.Nodes[path] = n
		}
	}
	if was, entered := st.Nodes[target.Path]; entered && target.Kind == plan.KindStage {
		was.Status, was.Outcome, was.Reason, was.EndedAt = state.NodeRunning, "", "", nil
		fresh.Nodes[target.Path] = was
	}
	if target.Kind == plan.KindStage {
		n := fresh.Nodes[target.Path]
		done := n.Loop.Completed
		if at.Iteration > 0 {
			done = at.Iteration - 1
		}
		was := n.Loop
		n.Loop = readyAfter(done, target.Termination)
		n.Loop.Strategy, n.Loop.Decisions = was.Strategy, was.Decisions
		fresh.Nodes[target.Path] = n
	}
	fresh.Handled, fresh.Usage = st.Handled, st.Usage
	fresh.Mode, fresh.Pipeline = cmp.Or(st.Mode, fresh.Mode), cmp.Or(st.Pipeline, fresh.Pipeline)
	return fresh, nil
}

// nodeIDs returns the ids of the pipeline's own nodes, in their order.
func nodeIDs(p *plan.Plan) []string {
	ids := make([]string, len(p.Nodes))
	for i := range p.Nodes {
		ids[i] = p.Nodes[i].ID
	}
	return ids
}

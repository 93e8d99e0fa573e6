package compile

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/dodo-digital/agent-pipelines/kernel/dialect"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/kernel/sources"
	"github.com/dodo-digital/agent-pipelines/kernel/yamldoc"
)

var targets = []string{plan.ToNext, plan.ToDone, plan.ToRetry, plan.ToPause, plan.ToAbort, plan.ToFailed}

// edge is one edge of a node, an entry of its key transitions, as written.
type edge struct {
	dialect.Map // the long form; Node is nil for the short form
	plan.Edge
	outcome plan.Outcome
	toAt    dialect.Location
}

// readTransitions reads the edges of a node, in the order of the file. whole is false if an edge is not readable; the
// fault is reported.
func readTransitions(a sources.Node) (edges []edge, whole bool) {
	inner, ok := a.MapAt("transitions")
	if !ok {
		return nil, !a.Has("transitions")
	}
	inner.CheckKeys(&dialect.Transitions)
	whole = true
	outcomes := dialect.Transitions.Names()
	for _, entry := range inner.Node.Entries {
		if !slices.Contains(outcomes, entry.Key) {
			whole = false
			continue
		}
		e := readEdge(inner, entry)
		whole = whole && e.To != ""
		edges = append(edges, e)
	}
	return edges, whole
}

// readEdge reads one edge. To is "" if there is no target; the fault is reported.
func readEdge(m dialect.Map, entry yamldoc.Entry) edge {
	e := edge{outcome: plan.Outcome(entry.Key), toAt: m.At(entry.Value.Pos)}
	switch entry.Value.Kind {
	case yamldoc.Map:
		e.Map = m.Nested(entry.Value, fmt.Sprintf("the edge for %s", entry.Key))
		e.Decode(&dialect.Edge, &e.Edge)
		e.toAt = e.Location(e.Get("to"))
	case yamldoc.List:
		m.WrongItem(entry.Value, "the edge for "+entry.Key, "the id of a node, or a map")
	default:
		if e.To, _ = m.Text(entry.Key); e.To == "" {
			m.Errorf(entry.KeyPos, yamldoc.CodeMissing, "write the target: the id of a node, or "+dialect.JoinOr(targets), "the edge for %s has no target", entry.Key)
		}
	}
	return e
}

// planEdges returns the edges by outcome, as the plan holds them; nil for none.
func planEdges(edges []edge) map[plan.Outcome]plan.Edge {
	if len(edges) == 0 {
		return nil
	}
	m := make(map[plan.Outcome]plan.Edge, len(edges))
	for _, e := range edges {
		m[e.outcome] = e.Edge
	}
	return m
}

// checkTarget checks the target of the edge of node number at. It returns false and reports a fault if the target
// does not exist.
func (e edge) checkTarget(at int, ids []string) bool {
	target := slices.Index(ids, e.To)
	keyword := slices.Contains(targets, e.To)
	switch {
	case e.To == "":
		return false // already reported
	case keyword && target >= 0:
		e.toAt.Warnf(yamldoc.CodeAmbiguous, "give the node another id", "%s is a keyword of transitions here, not the node with that id", e.To)
	case !keyword && target < 0:
		e.toAt.Errorf(yamldoc.CodeEdge, dialect.DidYouMean(e.To, slices.Concat(ids, targets)), "the edge for %s leads to unknown node %q", e.outcome, e.To)
		return false
	}
	if keyword || target > at {
		e.checkForward()
	}
	return true
}

// checkForward reports keys that have no meaning on an edge that does not lead back to a node.
func (e edge) checkForward() {
	if e.Node == nil {
		return
	}
	for _, key := range []string{"limit", "on_limit"} {
		if e.Has(key) {
			e.Errorf(e.KeyPos(key), yamldoc.CodeConflict, "remove it; only edges that lead back are counted", "the edge for %s to %s cannot have %s: it does not lead back", e.outcome, e.To, key)
		}
	}
	if e.Has("feedback") && slices.Contains([]string{plan.ToPause, plan.ToAbort, plan.ToFailed, plan.ToDone}, e.To) {
		e.Warnf(e.KeyPos("feedback"), yamldoc.CodeNoEffect, "remove it", "feedback has no effect on an edge to %s: no agent reads it", e.To)
	}
}

// checkLimit checks the edge's limit against the maximum of the node's policy.
func (e edge) checkLimit(most plan.Cycles) {
	if e.Limit <= most.Max {
		return
	}
	e.Errorf(cmp.Or(e.Get("limit").Node, e.Node).Pos, yamldoc.CodeRange, "or raise cycles.max in the policy", "limit must be at most %d, not %d", most.Max, e.Limit)
}

// checkSkipEdge reports an edge for skip that does not lead forward from a node with skip_when: the node would be
// skipped again.
func (e edge) checkSkipEdge(r plan.Route, id string) {
	if r.Name != "" || r.To == plan.ToRetry || r.To == plan.ToPause {
		e.toAt.Errorf(yamldoc.CodeConflict, "point it forward, or remove it: without an edge, skip leads to the next node", "node %q has skip_when, and its edge for skip leads to %q", id, e.To)
	}
}

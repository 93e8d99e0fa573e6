package schedule

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"strings"

	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/kernel/progress"
	"github.com/dodo-digital/agent-pipelines/kernel/state"
)

// overLimit describes the cycle limit that blocks another transition over the edge. It returns "" if there is none.
func overLimit(s state.State, limits plan.Cycles, route plan.Route, pass string) string {
	c := s.Cycles[route.Name]
	switch {
	case c.Count > route.Limit:
		return fmt.Sprintf("%s has been taken %d times, beyond its limit of %d", route.Name, c.Count, route.Limit)
	case c.Count == route.Limit:
		return fmt.Sprintf("%s has been taken %d of %d times", route.Name, c.Count, route.Limit)
	case countReturns(s, route) >= limits.Max:
		return fmt.Sprintf("%s has been entered again %d times, the maximum of policy.cycles.max", route.Edge.To, limits.Max)
	case s.Returns >= limits.Session:
		return fmt.Sprintf("the run has taken %d back edges, the maximum of policy.cycles.session", limits.Session)
	case limits.Identical > 0 && c.PassHash == pass && c.IdenticalPasses+1 >= limits.Identical:
		return fmt.Sprintf("%d passes in a row over %s produced the same output", c.IdenticalPasses+1, route.Name)
	default:
		return ""
	}
}

// countReturns returns how often the edge's target was re-entered, over all edges that lead to it.
func countReturns(s state.State, route plan.Route) int {
	subject, _ := progress.SplitEdge(route.Name)
	sum := 0
	for name, c := range s.Cycles {
		if embedder, edge := progress.SplitEdge(name); embedder == subject && strings.HasSuffix(edge, "->"+route.Edge.To) {
			sum += c.Count
		}
	}
	return sum
}

// passHash returns a digest of the outputs of the nodes from the target of a back edge to its source.
func passHash(p *plan.Plan, s state.State, n *plan.Node, target string) string {
	siblings, last := p.Siblings(n.Path)
	digest := sha256.New()
	inside := false
	for i := 0; i <= last; i++ {
		path := siblings[i].Path
		if inside = inside || path == target; !inside {
			continue
		}
		ns := s.Nodes[path]
		_, _ = io.WriteString(digest, ns.Loop.Content) // a hash never fails
		for _, ref := range []*event.Ref{ns.Output, ns.Loop.Result} {
			if ref != nil {
				_, _ = io.WriteString(digest, path+" "+ref.SHA256+"\n")
			}
		}
	}
	return hex.EncodeToString(digest.Sum(nil))[:16]
}

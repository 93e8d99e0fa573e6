package schedule

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"strings"

	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/kernel/state"
)

// overLimit returns the cycle limit that blocks another transition over the edge, "" for none.
func overLimit(p *plan.Plan, s state.State, n *plan.Node, route plan.Route, pass string) string {
	c, limits := s.Cycles[route.Name], p.CycleLimits(n)
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
	subject, _ := splitEdge(route.Name)
	sum := 0
	for name, c := range s.Cycles {
		if embedder, edge := splitEdge(name); embedder == subject && strings.HasSuffix(edge, "->"+route.Edge.To) {
			sum += c.Count
		}
	}
	return sum
}

// splitEdge splits the name of a counted edge into the path of the node that embeds its pipeline, "" for none, and
// the rest.
func splitEdge(name string) (embedder, edge string) {
	if before, after, inside := strings.Cut(name, "/"); inside {
		return before, after
	}
	return "", name
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
		for _, ref := range []*event.Ref{ns.Output, ns.Loop.Result} {
			if ref != nil {
				_, _ = io.WriteString(digest, path+" "+ref.SHA256+"\n") // a hash never fails
			}
		}
	}
	return hex.EncodeToString(digest.Sum(nil))[:16]
}

// countReturn counts a transition over a back edge.
func countReturn(s *state.State, d event.NodeCompleteData) {
	if d.Edge == "" {
		return
	}
	if s.Cycles == nil {
		s.Cycles = map[string]state.Cycle{}
	}
	c := s.Cycles[d.Edge]
	if c.PassHash != d.PassHash {
		c.PassHash, c.IdenticalPasses = d.PassHash, 0
	}
	c.IdenticalPasses++
	c.Count, c.Limit = d.Cycle, d.Limit
	c.Reasons = append(c.Reasons, d.Reason)
	c.Reasons = c.Reasons[max(0, len(c.Reasons)-state.MaxReasons):]
	s.Cycles[d.Edge] = c
	s.Returns++
}

// clearCycles clears the counts of the cycles inside a pipeline node that begins another run.
func clearCycles(s *state.State, path string) {
	for name := range s.Cycles {
		if embedder, _ := splitEdge(name); embedder == path || strings.HasPrefix(embedder, path+".") {
			delete(s.Cycles, name)
		}
	}
}

package progress

import (
	"fmt"
	"maps"
	"strings"

	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/kernel/state"
)

// applyNodeRunStart moves the run to the first node of the embedded plan and forgets that plan's nodes.
func applyNodeRunStart(p *plan.Plan, s *state.State, e event.Event) error {
	n, ns, err := runningNode(p, s, e)
	if err != nil {
		return err
	}
	if n.Plan == nil || ns.Runs >= p.MaxRuns(n) {
		return invalidTransition(e, "the node begins no further run")
	}
	if p.Embedder(s.At) == "" {
		ns.Run++
	}
	if ns.Runs++; ns.Runs > 1 {
		clearCarry(s)
	}
	s.NextFrom = ""
	clearEmbedded(p, s)
	clearCycles(s, s.At)
	s.Nodes[s.At] = ns
	if len(n.Plan.Nodes) > 0 {
		s.At += "." + n.Plan.Nodes[0].Path
	}
	return nil
}

// applyRunStart moves the session to the first node again and forgets all nodes. Only the run numbers of nested
// pipelines continue, because directories are named after them.
func applyRunStart(p *plan.Plan, s *state.State, e event.Event, d event.RunStartData) error {
	if s.Status != state.Running || s.At != "" || s.Run >= s.Runs || d.N != s.Run+1 {
		return invalidTransition(e, fmt.Sprintf("run %d of the pipeline is not due", d.N))
	}
	s.Run++
	for path, n := range s.Nodes {
		if node := p.Find(path); node == nil || node.Kind != plan.KindPipeline || p.Embedder(path) != "" {
			continue
		}
		put(&s.PriorRuns, path, n.Run)
	}
	clear(s.Nodes)
	s.PriorVisits = nil
	s.Cycles, s.Returns, s.At = nil, 0, p.First()
	clearCarry(s)
	return nil
}

// clearEmbedded forgets the nodes of the pipeline node that begins a run. The run number distinguishes old work from
// new. A pipeline inside another has no run number of its own, so the visits of its nodes keep counting.
func clearEmbedded(p *plan.Plan, s *state.State) {
	within := s.At + "."
	if p.Embedder(s.At) == "" {
		maps.DeleteFunc(s.PriorVisits, func(path string, _ int) bool { return strings.HasPrefix(path, within) })
	}
	for path, n := range s.Nodes {
		if !strings.HasPrefix(path, within) {
			continue
		}
		if p.Embedder(s.At) != "" {
			put(&s.PriorVisits, path, n.Visit)
		}
		delete(s.Nodes, path)
	}
}

// runNumber returns the run of a node that is about to be entered. It is the run of the outermost pipeline node around
// the node, else of the whole pipeline.
func runNumber(p *plan.Plan, s *state.State, path string) int {
	outermost := ""
	for outer := p.Embedder(path); outer != ""; outer = p.Embedder(outer) {
		outermost = outer
	}
	if outermost == "" {
		return max(s.Run, 1)
	}
	return s.Nodes[outermost].Run
}

// countReturn counts a transition over a back edge.
func countReturn(s *state.State, d event.NodeCompleteData) {
	if d.Edge == "" {
		return
	}
	c := s.Cycles[d.Edge]
	if c.PassHash != d.PassHash {
		c.PassHash, c.IdenticalPasses = d.PassHash, 0
	}
	c.IdenticalPasses++
	c.Count, c.Limit = d.Cycle, d.Limit
	c.Reasons = append(c.Reasons, d.Reason)
	c.Reasons = c.Reasons[max(0, len(c.Reasons)-state.MaxReasons):]
	put(&s.Cycles, d.Edge, c)
	s.Returns++
}

// clearCycles clears the counts of the cycles inside a pipeline node that begins another run.
func clearCycles(s *state.State, path string) {
	for name := range s.Cycles {
		if embedder, _ := SplitEdge(name); embedder == path || strings.HasPrefix(embedder, path+".") {
			delete(s.Cycles, name)
		}
	}
}

// SplitEdge splits the name of a counted edge. The embedder is the path of the node that embeds the edge's pipeline,
// "" for none; edge is the rest.
func SplitEdge(name string) (embedder, edge string) {
	if before, after, inside := strings.Cut(name, "/"); inside {
		return before, after
	}
	return "", name
}

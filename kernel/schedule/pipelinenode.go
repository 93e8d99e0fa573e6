package schedule

import (
	"maps"
	"strings"

	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/kernel/state"
)

// decideEmbedded runs a pipeline node that was entered: each run goes through the embedded plan, from its first node
// until a transition leads back to this node.
func decideEmbedded(p *plan.Plan, s state.State, n *plan.Node, ns state.Node) []Command {
	limit := p.MaxRuns(n)
	if ns.Runs < limit {
		return record(event.New(event.NodeRunStart, &event.Cursor{NodePath: n.Path, NodeRun: ns.Runs + 1}, "",
			event.RunStartData{Name: n.ID, N: ns.Runs + 1, Max: limit}))
	}
	if needsDeliverable(n, ns) {
		loc := ns.Location(n.Path)
		return []Command{{Kind: Settle, Key: ns.DeliverableKey(n.Path), Location: loc}}
	}
	return completeNode(p, s, n, ns)
}

func embeddedStartEvent(p *plan.Plan, n *plan.Node) event.Event {
	return event.New(event.NodeStart, &event.Cursor{NodePath: n.Path}, "",
		event.PipelineStartData{Name: n.ID, Kind: string(n.Kind), Pipeline: n.Ref, Runs: p.MaxRuns(n)})
}

// applyNodeRunStart moves the run to the first node of the embedded plan and forgets that plan's nodes.
func applyNodeRunStart(p *plan.Plan, s *state.State, e event.Event) error {
	n, ns := p.Find(s.At), s.Nodes[s.At]
	if n == nil || n.Plan == nil || ns.Status != state.NodeRunning || e.Cursor == nil || e.Cursor.NodePath != s.At || ns.Runs >= p.MaxRuns(n) {
		return invalidTransition(e, "the run is not at that pipeline")
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

// clearEmbedded forgets the nodes of the pipeline node that begins a run. The run number distinguishes old work from
// new; a pipeline inside another has no run number of its own, so the visits of its nodes keep counting.
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
			if s.PriorVisits == nil {
				s.PriorVisits = map[string]int{}
			}
			s.PriorVisits[path] = n.Visit
		}
		delete(s.Nodes, path)
	}
}

// runNumber returns the run that a node about to be entered belongs to: that of the outermost pipeline node around
// it, or of the whole pipeline.
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

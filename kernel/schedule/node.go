package schedule

import (
	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/kernel/state"
)

// decideNode enters the node, runs its loop, and commits the transition when the loop is settled.
func decideNode(p *plan.Plan, s state.State, n *plan.Node) []Command {
	ns, entered := s.Nodes[n.Path]
	if !entered || ns.Status != state.NodeRunning {
		return record(nodeStart(p, s, n))
	}
	if ns.Loop.Phase == state.PhaseSettled {
		return record(nodeComplete(p, s, n, ns))
	}
	return decideLoop(p, s, n, placeOf(n.Path, ns), ns.Loop)
}

func nodeStart(p *plan.Plan, s state.State, n *plan.Node) event.Event {
	d := event.NodeStartData{Name: nameOf(p, s, n), Type: n.Ref}
	if n.Provider != nil {
		d.Provider, d.Model = n.Provider.Type, n.Provider.Model
	}
	if s.Mode != "loop" {
		d.Runs = n.Termination.Max()
	}
	return event.New(event.NodeStart, &event.Cursor{NodePath: n.Path}, "", d)
}

// nodeComplete is the commit of the transition that the settled loop leads to.
func nodeComplete(p *plan.Plan, s state.State, n *plan.Node, ns state.Node) event.Event {
	l := ns.Loop
	d := event.NodeCompleteData{
		Name: nameOf(p, s, n), Status: string(state.NodeComplete), Reason: l.Reason,
		Outcome: l.Outcome, To: target(p, n, plan.Outcome(l.Outcome)), Failure: l.Failure,
	}
	if d.To == plan.ToFailed {
		d.Status = string(state.NodeFailed)
	}
	return event.New(event.NodeComplete, placeOf(n.Path, ns).Cursor(), "", d)
}

// nameOf is what events call a node: its id, and in a loop the name that the stage gives itself.
func nameOf(p *plan.Plan, s state.State, n *plan.Node) string {
	if s.Mode == "loop" && p.Pipeline.Name != "" {
		return p.Pipeline.Name
	}
	return n.ID
}

// target is where an outcome leads: success to the next node in list order, everything else to
// failed (DIALECT B1, rule 2).
func target(p *plan.Plan, n *plan.Node, o plan.Outcome) string {
	if o != plan.OutcomeSuccess {
		return plan.ToFailed
	}
	if next := p.Next(n.Path); next != "" {
		return next
	}
	return plan.ToDone
}

// ---- Apply

func applyNodeStart(p *plan.Plan, s *state.State, e event.Event) error {
	if e.Cursor == nil || e.Cursor.NodePath != s.At || p.Find(s.At) == nil {
		return misfit(e, "the run is not at that node")
	}
	old, entered := s.Nodes[s.At]
	if entered && old.Status == state.NodeRunning {
		return misfit(e, "the node is already running")
	}
	s.Nodes[s.At] = state.Node{
		Visit: old.Visit + 1, Run: 1, Status: state.NodeRunning, StartedAt: e.Time,
		Loop: state.Loop{Phase: state.PhaseReady},
	}
	return nil
}

func applyNodeComplete(p *plan.Plan, s *state.State, e event.Event) error {
	d, err := event.Decode[event.NodeCompleteData](e)
	if err != nil {
		return err
	}
	n, ok := s.Nodes[s.At]
	if !ok || n.Status != state.NodeRunning || e.Cursor == nil || e.Cursor.NodePath != s.At {
		return misfit(e, "the run is not at that node")
	}
	at := e.Time
	n.Status, n.Outcome, n.Reason, n.EndedAt = state.NodeStatus(d.Status), d.Outcome, d.Reason, &at
	s.Nodes[s.At] = n
	return follow(p, s, e, d)
}

// follow moves the run to the transition's target. A failed run stays at its node, so that a resume
// goes on there.
func follow(p *plan.Plan, s *state.State, e event.Event, d event.NodeCompleteData) error {
	switch d.To {
	case plan.ToDone:
		s.At = ""
	case plan.ToFailed:
		if err := become(s, e, state.Failed); err != nil {
			return err
		}
		s.Failure, s.Reason = d.Failure, d.Reason
	default:
		if p.Find(d.To) == nil {
			return misfit(e, "the plan has no node "+d.To)
		}
		s.At = d.To
	}
	return nil
}

// placeOf is the place of the iteration that the node is at.
func placeOf(path string, n state.Node) event.Place {
	return event.Place{Node: path, Visit: n.Visit, Run: n.Run, Iteration: n.Loop.Iteration}
}

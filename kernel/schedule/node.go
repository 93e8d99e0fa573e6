package schedule

import (
	"slices"

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
	if ns.Restart != nil {
		return decideRestart(p, s, n, ns)
	}
	if cmds, passed := enterNode(p, s, n, ns); !passed {
		return cmds
	}
	switch {
	case n.Kind == plan.KindParallel:
		return decideBlock(p, s, n, ns)
	case n.Kind == plan.KindPipeline:
		return decideEmbedded(p, s, n, ns)
	case ns.Loop.Phase == state.PhaseSettled:
		return leaveNode(p, s, n, ns, func(f *event.FailureData) event.Event { return nodeComplete(p, s, n, ns, f) })
	default:
		return decideLoop(p, s, n, placeOf(n.Path, ns), ns.Loop)
	}
}

func nodeStart(p *plan.Plan, s state.State, n *plan.Node) event.Event {
	switch n.Kind {
	case plan.KindParallel:
		return blockStart(n)
	case plan.KindPipeline:
		return embeddedStart(p, n)
	}
	d := event.NodeStartData{Name: NameOf(p, s, n), Type: n.Ref}
	if n.Provider != nil {
		d.Provider, d.Model = n.Provider.Said(), n.Provider.Model
	}
	if s.Mode != "loop" {
		d.Runs = n.Termination.Max()
	}
	return event.New(event.NodeStart, &event.Cursor{NodePath: n.Path}, "", d)
}

// nodeComplete is the commit of the transition that the settled loop leads to, or the failure of a check at its end.
func nodeComplete(p *plan.Plan, s state.State, n *plan.Node, ns state.Node, f *event.FailureData) event.Event {
	l := ns.Loop
	d := event.NodeCompleteData{
		Name: NameOf(p, s, n), Status: string(state.NodeComplete), Reason: l.Reason,
		Outcome: l.Outcome, To: target(p, n, plan.Outcome(l.Outcome)), Failure: l.Failure,
	}
	if d.To == plan.ToFailed {
		d.Status = string(state.NodeFailed)
	}
	return event.New(event.NodeComplete, endOf(s, n.Path, ns), "", worse(d, f))
}

// worse is the end of a node that did well, if a check at its end failed.
func worse(d event.NodeCompleteData, f *event.FailureData) event.NodeCompleteData {
	if f == nil || d.Outcome != string(plan.OutcomeSuccess) {
		return d
	}
	d.Status, d.Outcome, d.To, d.Reason, d.Failure = string(state.NodeFailed), string(plan.OutcomeFail), plan.ToFailed, f.Message, f
	return d
}

// endOf is the place that a settled node ends at: its last iteration. Where no iteration ended it, it is the
// node as a whole, as the Bash engine has it: the check before the first iteration, and in a loop a judge,
// whose word is about all iterations.
func endOf(s state.State, path string, ns state.Node) *event.Cursor {
	at := placeOf(path, ns)
	if l := ns.Loop; l.Outcome == string(plan.OutcomeSuccess) && (l.Completed == 0 || s.Mode == "loop" && l.Judged) {
		at.Iteration = 0
	}
	return at.Cursor()
}

// NameOf is what events call a node: its id, and in a loop the name that the stage gives itself.
func NameOf(p *plan.Plan, s state.State, n *plan.Node) string {
	if s.Mode == "loop" && p.Pipeline.Name != "" {
		return p.Pipeline.Name
	}
	return n.ID
}

// target is where an outcome leads: success to the next node in list order, and from the last one of an
// embedded plan back to the node that embeds it; everything else to failed (DIALECT B1, rule 2).
func target(p *plan.Plan, n *plan.Node, o plan.Outcome) string {
	if o != plan.OutcomeSuccess {
		return plan.ToFailed
	}
	if next := p.Next(n.Path); next != "" {
		return next
	}
	if embedder := p.Embedder(n.Path); embedder != "" {
		return embedder
	}
	return plan.ToDone
}

// ---- Apply

// firstLoop is where a stage's loop begins: with the first iteration, or under check_before with the
// question whether there is to be one.
func firstLoop(n *plan.Node) state.Loop {
	l := state.Loop{Phase: state.PhaseReady}
	if n.Termination.Bool("check_before", false) {
		l.Check = state.CheckDue
	}
	return l
}

func applyNodeStart(p *plan.Plan, s *state.State, e event.Event) error {
	if e.Cursor == nil || e.Cursor.NodePath != s.At || p.Find(s.At) == nil {
		return misfit(e, "the run is not at that node")
	}
	old, entered := s.Nodes[s.At]
	if entered && old.Status == state.NodeRunning && old.Restart == nil {
		return misfit(e, "the node is already running")
	}
	dropQuestions(s, ofNode(s.At))
	n := state.Node{Visit: old.Visit + 1, Run: runOf(p, s, s.At), Status: state.NodeRunning, StartedAt: e.Time}
	if p.Find(s.At).Kind != plan.KindPipeline { // whose first stage gets it
		n.Injected, s.NextInjected = append(slices.Clone(carried(old)), s.NextInjected...), nil
		n.Carried = len(n.Injected)
	}
	switch found := p.Find(s.At); {
	case found.Kind == plan.KindStage:
		n.Loop = firstLoop(found)
	case found.Kind == plan.KindPipeline && p.Embedder(s.At) == "":
		n.Run = max(old.Run, s.PriorRuns[s.At]) // no run has begun in this visit
	}
	s.Nodes[s.At] = n
	return nil
}

// carried are the texts that a node has from before, if it begins anew.
func carried(old state.Node) []event.Ref {
	if old.Restart == nil {
		return nil
	}
	return old.Injected[:min(old.Carried, len(old.Injected))]
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
	dropQuestions(s, ofNode(s.At))
	at := e.Time
	if d.To != plan.ToFailed {
		s.NextInjected = append(slices.Clone(n.Loop.Injected), s.NextInjected...) // what no further iteration came for is older
	}
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

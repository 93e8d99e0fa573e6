package schedule

import (
	"cmp"
	"slices"

	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/kernel/state"
)

// decideNode enters the node, runs its loop, and commits the transition when the loop is settled.
func decideNode(p *plan.Plan, s state.State, n *plan.Node) []Command {
	ns, entered := s.Nodes[n.Path]
	if !entered || ns.Status != state.NodeRunning {
		return record(nodeStartEvent(p, s, n))
	}
	if ns.Restart != nil {
		return decideRestart(p, s, n, ns)
	}
	if p.Skipped(n) {
		return skipNode(p, s, n, &event.Cursor{NodePath: n.Path}, "left out by --skip")
	}
	switch {
	case ns.Inspect:
		return inspectInput(n, ns)
	case ns.Skip != "":
		return skipNode(p, s, n, ns.Location(n.Path).Cursor(), ns.Skip)
	case ns.InputFailure != nil:
		return completeNode(p, s, n, ns)
	}
	if cmds, passed := decideStartHooks(p, s, n, ns); !passed {
		return cmds
	}
	switch {
	case n.Kind == plan.KindParallel:
		return decideBlock(p, s, n, ns)
	case n.Kind == plan.KindPipeline:
		return decideEmbedded(p, s, n, ns)
	case ns.Loop.Phase == state.PhaseSettled:
		return completeNode(p, s, n, ns)
	case ns.Loop.Phase == state.PhaseSteps:
		return decideSteps(p, s, n, ns)
	default:
		return decideLoop(p, s, n, ns.IterationLocation(n.Path), ns.Loop)
	}
}

func nodeStartEvent(p *plan.Plan, s state.State, n *plan.Node) event.Event {
	switch n.Kind {
	case plan.KindParallel:
		return blockStartEvent(n)
	case plan.KindPipeline:
		return embeddedStartEvent(p, n)
	}
	d := event.NodeStartData{Name: NodeName(p, s, n), Type: n.Ref}
	if n.Provider != nil {
		d.Provider, d.Model = n.Provider.EventName(), n.Provider.Model
	}
	if s.Mode != "loop" {
		d.Runs = n.Termination.Max()
	}
	return event.New(event.NodeStart, &event.Cursor{NodePath: n.Path}, "", d)
}

// completionCursor returns the cursor at which a settled node ends: its last iteration, or the node as a whole if no
// iteration ended it. As in the Bash engine, that is so for the check before the first iteration and for a judge, who
// rules on all iterations of a loop.
func completionCursor(s state.State, path string, ns state.Node) *event.Cursor {
	loc := ns.IterationLocation(path)
	if l := ns.Loop; l.Outcome == string(plan.OutcomeSuccess) && (l.Completed == 0 || s.Mode == "loop" && l.EndedByJudge) {
		loc.Iteration = 0
	}
	return loc.Cursor()
}

// NodeName returns the node's name in events: its id, and in mode loop the stage's own name.
func NodeName(p *plan.Plan, s state.State, n *plan.Node) string {
	if s.Mode == "loop" && p.Pipeline.Name != "" {
		return p.Pipeline.Name
	}
	return n.ID
}

// newLoop returns the initial loop of a stage: before the first iteration, or under check_before before the question
// whether to start one.
func newLoop(n *plan.Node) state.Loop {
	l := state.Loop{Phase: state.PhaseReady}
	if n.Termination.Bool("check_before", false) {
		l.Check = state.CheckDue
	}
	if len(n.ChecksAt(plan.AtEnter)) > 0 {
		l.Phase = state.PhaseEnter
	}
	return l
}

func applyNodeStart(p *plan.Plan, s *state.State, e event.Event) error {
	if e.Cursor == nil || e.Cursor.NodePath != s.At || p.Find(s.At) == nil {
		return invalidTransition(e, "the run is not at that node")
	}
	old, entered := s.Nodes[s.At]
	if entered && old.Status == state.NodeRunning && old.Restart == nil {
		return invalidTransition(e, "the node is already running")
	}
	s.DropNodeQuestions(s.At)
	n := state.Node{Visit: max(old.Visit, s.PriorVisits[s.At]) + 1, Run: runNumber(p, s, s.At), Status: state.NodeRunning, StartedAt: e.Time}
	n.From, s.NextFrom, n.Inspect = s.NextFrom, "", p.Find(s.At).NeedsInput()
	if old.Restart != nil {
		n.Escalations = old.Escalations
	}
	if old.Restart != nil || n.From == s.At { // it gets the same input as before
		n.From = old.From
	}
	n.Rejected = old.Restart != nil && old.Restart.Rejected
	if p.Find(s.At).Kind != plan.KindPipeline { // its first stage gets them
		n.Injected, s.NextInjected = append(slices.Clone(carriedInjections(old)), s.NextInjected...), nil
		n.Carried = len(n.Injected)
		n.Feedback, n.FailedSteps, n.Cause = s.NextFeedback, s.NextFailedSteps, s.NextReason
		clearCarry(s)
		if old.Restart != nil && n.Feedback == nil {
			n.Feedback, n.Cause = cmp.Or(old.Loop.Feedback, old.Feedback), cmp.Or(n.Cause, old.Cause)
		}
		n.Steps, n.Artifacts = old.Steps, old.Artifacts
	}
	switch node := p.Find(s.At); {
	case node.Kind == plan.KindStage:
		n.Loop = newLoop(node)
	case node.Kind == plan.KindPipeline && p.Embedder(s.At) == "":
		n.Run = max(old.Run, s.PriorRuns[s.At]) // no run has begun in this visit
	}
	s.Nodes[s.At] = n
	return nil
}

// carriedInjections returns the texts that a restarted node keeps.
func carriedInjections(old state.Node) []event.Ref {
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
		return invalidTransition(e, "the run is not at that node")
	}
	s.DropNodeQuestions(s.At)
	now := e.Time
	if d.To != plan.ToFailed {
		s.NextInjected = append(slices.Clone(n.Loop.Injected), s.NextInjected...) // texts left over after the last iteration are older
	}
	n.Status, n.Outcome, n.Reason, n.EndedAt = state.NodeStatus(d.Status), d.Outcome, d.Reason, &now
	s.Nodes[s.At] = n
	carryFeedback(s, n, d)
	countReturn(s, d)
	return takeTransition(p, s, e, d)
}

// carryFeedback stores for the next node why this one did not succeed: its feedback, else the reason alone. A failed
// run resumes at the same node, so it stores nothing.
func carryFeedback(s *state.State, n state.Node, d event.NodeCompleteData) {
	if d.Outcome == string(plan.OutcomeSuccess) || d.Outcome == string(plan.OutcomeSkip) || d.To == plan.ToFailed {
		return
	}
	if n.Loop.Verdict != "" {
		s.NextFeedback, s.NextFailedSteps = n.Loop.Feedback, n.Loop.FailedSteps
	}
	if s.NextFeedback == nil {
		s.NextReason = d.Reason
	}
}

// clearCarry clears the feedback for the next node, because the pipeline starts over.
func clearCarry(s *state.State) {
	s.NextFeedback, s.NextFailedSteps, s.NextReason, s.NextFrom = nil, nil, "", ""
}

// takeTransition moves the run to the transition's target. A failed run stays at its node, so that a resume continues
// there.
func takeTransition(p *plan.Plan, s *state.State, e event.Event, d event.NodeCompleteData) error {
	switch d.To {
	case plan.ToDone:
		s.At = ""
	case plan.ToFailed:
		if err := setStatus(s, e, state.Failed); err != nil {
			return err
		}
		s.Failure, s.Reason = d.Failure, d.Reason
	case plan.ToAbort:
		s.Stop = &state.Stop{Action: "abort", Reason: d.Reason, By: d.Name, Hook: true}
	default:
		if p.Find(d.To) == nil {
			return invalidTransition(e, "the plan has no node "+d.To)
		}
		if p.Embedder(s.At) == d.To {
			deliver(p, s, d.To)
		}
		s.At, s.NextFrom = d.To, s.At
	}
	return nil
}

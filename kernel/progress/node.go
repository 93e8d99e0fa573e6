package progress

import (
	"cmp"
	"slices"

	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/kernel/state"
)

func applyNodeStart(p *plan.Plan, s *state.State, e event.Event) error {
	if e.Cursor == nil || e.Cursor.NodePath != s.At || p.Find(s.At) == nil {
		return invalidTransition(e, "the run is not at that node")
	}
	old, entered := s.Nodes[s.At]
	if entered && old.Status == state.NodeRunning && old.Restart == nil {
		return invalidTransition(e, "the node is already running")
	}
	s.DropNodeQuestions(s.At)
	n := state.Node{NodeProgress: state.NodeProgress{
		Visit: max(old.Visit, s.PriorVisits[s.At]) + 1, Run: runNumber(p, s, s.At), Status: state.NodeRunning, StartedAt: e.Time,
	}}
	n.From, s.NextFrom, n.Inspect = s.NextFrom, "", p.Find(s.At).NeedsInput()
	if old.Restart != nil {
		n.Escalations = old.Escalations
	}
	if old.Restart != nil || n.From == s.At { // the node gets the same input as before
		n.From = old.From
	}
	n.Rejected = old.Restart != nil && old.Restart.Rejected
	if p.Find(s.At).Kind != plan.KindPipeline { // the first stage of the embedded pipeline gets the texts
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

func applyNodeComplete(p *plan.Plan, s *state.State, e event.Event, d event.NodeCompleteData) error {
	_, n, err := runningNode(p, s, e)
	if err != nil {
		return err
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
	return followTransition(p, s, e, d)
}

// carryFeedback stores the feedback of a node that did not succeed for the next node, or else the reason alone. A
// failed run resumes at the same node, so nothing is stored.
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

// followTransition moves the run to the transition's target. A failed run stays at its node, so that a resume continues
// there.
func followTransition(p *plan.Plan, s *state.State, e event.Event, d event.NodeCompleteData) error {
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

// applyInputChecked lets the node begin, skips it, or fails it.
func applyInputChecked(p *plan.Plan, s *state.State, e event.Event, d event.InputCheckedData) error {
	n, ns := p.Find(s.At), s.Nodes[s.At]
	if n == nil || ns.Status != state.NodeRunning || !ns.Inspect || e.Key != ns.InputKey(s.At) {
		return invalidTransition(e, "the run does not wait for the input of that node")
	}
	if s.Stop != nil && d.Failure != nil && causedByStop(d.Failure) {
		return nil // the inspection was interrupted and happens again after the resume
	}
	ns.Inspect, ns.Warnings, ns.Input = false, d.Warnings, d.Input
	switch {
	case d.Failure != nil:
		ns.InputFailure = d.Failure
		if n.Kind == plan.KindStage {
			ns.Loop.Fail(d.Failure)
		}
	case d.Skip:
		ns.Skip = cmp.Or(d.Reason, "skip_when holds")
		if d.Artifact != nil {
			ns.Artifacts = map[string]event.Ref{event.Artifact: *d.Artifact}
		}
	}
	s.Nodes[s.At] = ns
	return nil
}

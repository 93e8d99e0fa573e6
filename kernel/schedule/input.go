package schedule

import (
	"cmp"

	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/kernel/state"
)

// This file handles the input artifact of a node that requires fields of it or may be skipped because of it: before
// all work.

// inspectInput returns the command that inspects the input artifact.
func inspectInput(n *plan.Node, ns state.Node) []Command {
	loc := ns.Location(n.Path)
	return []Command{{Kind: Inspect, Key: ns.InputKey(n.Path), Location: loc}}
}

// skipNode completes a node without running it; it was entered, so that it is visible. Its edge leads forward or ends
// the run.
func skipNode(p *plan.Plan, s state.State, n *plan.Node, cursor *event.Cursor, reason string) []Command {
	d := event.NodeCompleteData{
		Name: NodeName(p, s, n), Status: string(state.NodeSkipped), Reason: reason,
		Outcome: string(plan.OutcomeSkip), To: p.Route(n, plan.OutcomeSkip).To,
	}
	if d.To != plan.ToFailed {
		return record(event.New(event.NodeComplete, cursor, "", d))
	}
	d.Status, d.Failure = string(state.NodeFailed), outcomeFailure(n, s.Nodes[n.Path], nodeOutcome{outcome: plan.OutcomeSkip, reason: reason})
	return completeSession(p, s, event.New(event.NodeComplete, cursor, "", d))
}

// reinspectInput makes a node whose input artifact was invalid inspect it again.
func reinspectInput(n *plan.Node, ns *state.Node) {
	if ns.Runs > 0 { // a pipeline node that ended with an invalid artifact
		ns.Restart = &state.Restart{Reason: ns.InputFailure.Message, Approved: true}
		return
	}
	ns.Inspect, ns.InputFailure, ns.HookCursor = true, nil, state.HookCursor{Round: ns.HookCursor.Round + 1}
	if n != nil && n.Kind == plan.KindStage {
		ns.Loop = newLoop(n)
	}
}

// applyInputChecked lets the node begin, skips it, or fails it.
func applyInputChecked(p *plan.Plan, s *state.State, e event.Event) error {
	d, err := event.Decode[event.InputCheckedData](e)
	if err != nil {
		return err
	}
	n, ns := p.Find(s.At), s.Nodes[s.At]
	if n == nil || ns.Status != state.NodeRunning || !ns.Inspect || e.Key != ns.InputKey(s.At) {
		return invalidTransition(e, "the run does not wait for the input of that node")
	}
	if s.Stop != nil && d.Failure != nil && causedByStop(d.Failure) {
		return nil // it was interrupted; the input is inspected again after the resume
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

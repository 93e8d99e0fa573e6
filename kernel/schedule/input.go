package schedule

import (
	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/kernel/state"
)

// What comes before all work at a node that demands something of its input artifact, or may be skipped because of it.

// inspect has the input artifact looked at.
func inspect(n *plan.Node, ns state.Node) []Command {
	at := placeOfNode(n.Path, ns)
	return []Command{{Kind: Inspect, Key: inputKey(n.Path, ns), Place: at}}
}

func inputKey(path string, ns state.Node) event.Key {
	return placeOfNode(path, ns).Key(event.KeyInput, 1)
}

// passedOver is the end of a node that its input artifact makes needless.
func passedOver(p *plan.Plan, s state.State, n *plan.Node, ns state.Node) event.Event {
	return event.New(event.NodeComplete, placeOfNode(n.Path, ns).Cursor(), "", event.NodeCompleteData{
		Name: NameOf(p, s, n), Status: string(state.NodeSkipped), Reason: ns.Skip,
		Outcome: string(plan.OutcomeSkip), To: p.RouteOf(n, plan.OutcomeSkip).To,
	})
}

// inspectAgain lets a node whose input artifact was not what it has to be look at it once more.
func inspectAgain(n *plan.Node, ns *state.Node) {
	if ns.Runs > 0 { // a pipeline that came to its end, and whose artifact was not what it has to be
		ns.Restart = &state.Restart{Reason: ns.Unfit.Message, Granted: true}
		return
	}
	ns.Inspect, ns.Unfit, ns.Gate = true, nil, state.Gate{}
	if n != nil && n.Kind == plan.KindStage {
		ns.Loop = firstLoop(n)
	}
}

// ---- Apply

// applyInputChecked lets the node begin, skips it, or ends it.
func applyInputChecked(p *plan.Plan, s *state.State, e event.Event) error {
	d, err := event.Decode[event.InputCheckedData](e)
	if err != nil {
		return err
	}
	n, ns := p.Find(s.At), s.Nodes[s.At]
	if n == nil || ns.Status != state.NodeRunning || !ns.Inspect || e.Key != inputKey(s.At, ns) {
		return misfit(e, "the run does not wait for the input of that node")
	}
	if s.Stop != nil && d.Failure != nil && byStop(d.Failure.ErrorType) {
		return nil // it was cut off, and is looked at again when the run goes on
	}
	ns.Inspect, ns.Warnings, ns.Input = false, d.Warnings, d.Input
	switch {
	case d.Failure != nil:
		ns.Unfit = d.Failure
		if n.Kind == plan.KindStage {
			settleFailed(&ns.Loop, d.Failure)
		}
	case d.Skip:
		ns.Skip = orElse(d.Reason, "skip_when holds")
		if d.Artifact != nil {
			ns.Artifacts = map[string]event.Ref{event.Artifact: *d.Artifact}
		}
	}
	s.Nodes[s.At] = ns
	return nil
}

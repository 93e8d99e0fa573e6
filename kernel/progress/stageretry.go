package progress

import (
	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/kernel/state"
)

// applyStageRetry starts the work of a node again.
func applyStageRetry(p *plan.Plan, s *state.State, e event.Event, d event.RetryData) error {
	n, ns := p.Find(s.At), s.Nodes[s.At]
	if n == nil || ns.Status != state.NodeRunning || d.N != ns.StageAttempt+2 || e.Key != ns.Location(s.At).Key(event.KeyRestart, d.N) {
		return invalidTransition(e, "the node does not wait for a stage retry")
	}
	if n.Kind == plan.KindStage && ns.Loop.Phase != state.PhaseSettled {
		return invalidTransition(e, "the node has not ended")
	}
	ns.StageAttempt++
	prepareStageRetry(n, &ns)
	s.DropNodeQuestions(s.At)
	s.Nodes[s.At] = ns
	return nil
}

// prepareStageRetry resets a node before its next stage retry, or on resume after failed steps. Finished steps stay
// done, unless all are done and the node still failed. Iteration numbers are never reused.
func prepareStageRetry(n *plan.Node, ns *state.Node) {
	ns.HookCursor, ns.Failure = state.HookCursor{Round: ns.HookCursor.Round + 1}, nil
	if n.Kind == plan.KindParallel {
		for id, b := range ns.Branches {
			if b.Status == state.NodeFailed {
				b.Loop.Resume(false)
				ns.Branches[id] = b
			}
		}
		ns.ReopenBranches()
		return
	}
	old := ns.Loop
	ns.Loop = newLoop(n)
	ns.Loop.StartAfter(max(old.Iteration, old.Completed))
	ns.Loop.ContextConsumed, ns.Loop.Injected, ns.Loop.Feedback, ns.Loop.Failure, ns.Loop.Faults = old.ContextConsumed, old.Injected, old.Feedback, old.Failure, old.Faults
	ns.RetrySteps()
	if old.Verdict != "" && old.Completed > old.Before && len(ns.Order) > 0 && ns.StepsDone() == len(ns.Order) { // their result was not good enough
		ns.RepeatSteps(old.FailedSteps)
	}
}

// approveOverride continues a node that the user was asked about. It continues over the edge beyond its limit, from
// the place where the budget ended, or from the beginning.
func approveOverride(p *plan.Plan, s *state.State, path string) {
	n, ns := p.Find(path), s.Nodes[path]
	if n == nil || ns.Status != state.NodeRunning {
		return
	}
	end := NodeOutcome(*s, n, ns)
	if end.Outcome == plan.OutcomeBudget {
		renewCeilings(p, s, path)
	}
	switch {
	case p.Route(n, end.Outcome).Name != "":
		ns.Approved = true
	case end.Outcome == plan.OutcomeBudget:
		resumeOverBudget(n, &ns)
	default:
		ns.Restart = &state.Restart{Reason: end.Reason, Approved: true}
		if end.Outcome == plan.OutcomeEscalate {
			ns.Escalations++
		}
	}
	s.Nodes[path] = ns
}

// resumeOverBudget continues a node where its budget ended, so that finished work is not paid for twice.
func resumeOverBudget(n *plan.Node, ns *state.Node) {
	if n.Kind == plan.KindStage && n.Steps == nil {
		ns.Loop.Resume(false)
		ns.HookCursor = ns.HookCursor.Reopen(plan.PointStageEnd)
		return
	}
	prepareStageRetry(n, ns)
}

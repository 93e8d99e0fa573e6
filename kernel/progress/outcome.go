package progress

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/kernel/state"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
)

// Outcome is the outcome of a node before a transition is chosen.
type Outcome struct {
	Outcome plan.Outcome
	Reason  string
	Failure *event.FailureData
	Cursor  *event.Cursor // of the event that commits it
}

// NodeOutcome returns the outcome of a node whose work is done. A failed check of a stage_end hook turns success
// into failure.
func NodeOutcome(s state.State, n *plan.Node, ns state.Node) Outcome {
	var end Outcome
	switch {
	case ns.InputFailure != nil:
		return Outcome{Outcome: state.FailureOutcome(ns.InputFailure), Reason: ns.InputFailure.Message, Failure: ns.InputFailure, Cursor: ns.Location(n.Path).Cursor()}
	case n.Kind == plan.KindParallel:
		end = blockOutcome(n, ns)
	case n.Kind == plan.KindPipeline:
		end = Outcome{Outcome: plan.OutcomeSuccess, Cursor: &event.Cursor{NodePath: n.Path, NodeRun: ns.Runs}}
	default:
		l := ns.Loop
		end = Outcome{Outcome: plan.Outcome(l.Outcome), Reason: l.Reason, Failure: l.Failure, Cursor: CompletionCursor(s, n.Path, ns)}
	}
	if f := ns.Failure; f != nil && end.Outcome == plan.OutcomeSuccess {
		end.Outcome, end.Reason, end.Failure = plan.OutcomeFail, f.Message, f
	}
	return end
}

// blockOutcome returns the outcome of a block whose providers have all ended. One failed provider fails the block;
// the failure names all failed providers and gives the reason of the first one.
func blockOutcome(n *plan.Node, ns state.Node) Outcome {
	end := Outcome{Outcome: plan.OutcomeSuccess, Cursor: &event.Cursor{NodePath: n.Path}}
	failed := FailedBranches(n, ns)
	if failed == nil {
		return end
	}
	first := ns.Branches[failed[0]].Loop
	end.Outcome = plan.OutcomeError
	switch o := plan.Outcome(first.Outcome); o {
	case plan.OutcomeFail, plan.OutcomeReject, plan.OutcomeEscalate, plan.OutcomeBudget:
		end.Outcome = o
	}
	if len(n.Transitions) > 0 && end.Outcome == plan.OutcomeError {
		end.Outcome = plan.OutcomeFail // DIALECT B7
	}
	end.Failure = blockFailure(n, failed, first.Failure, first.Reason)
	end.Reason = end.Failure.Message
	return end
}

func blockFailure(n *plan.Node, failed []string, first *event.FailureData, reason string) *event.FailureData {
	f := event.FailureData{Code: failure.AgentError.Code(), ErrorType: string(failure.AgentError), Message: cmp.Or(reason, "no reason given")}
	if first != nil {
		f = *first
	}
	f.Node, f.Stage, f.Iteration, f.Attempt, f.Collateral, f.Usage = n.ID, n.ID, 0, 0, false, nil
	f.Message = fmt.Sprintf("Parallel block '%s' failed. Failed providers: %s: %s", n.ID, strings.Join(failed, ", "), f.Message)
	return &f
}

// FailedBranches returns the ids of the providers that failed, in the order of the block.
func FailedBranches(n *plan.Node, ns state.Node) []string {
	var failed []string
	for i := range n.Providers {
		if id := n.Providers[i].ID(); ns.Branches[id].Status == state.NodeFailed {
			failed = append(failed, id)
		}
	}
	return failed
}

// CompletionCursor returns the cursor at which a settled node ends: its last iteration, or the node as a whole if no
// iteration ended it. As in the Bash engine, no iteration ends a node stopped by the check before the first iteration,
// or in mode loop by a judge.
func CompletionCursor(s state.State, path string, ns state.Node) *event.Cursor {
	loc := ns.IterationLocation(path)
	if l := ns.Loop; l.Outcome == string(plan.OutcomeSuccess) && (l.Completed == 0 || s.Mode == "loop" && l.EndedByJudge) {
		loc.Iteration = 0
	}
	return loc.Cursor()
}

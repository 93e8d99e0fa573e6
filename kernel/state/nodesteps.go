package state

import (
	"slices"

	"github.com/dodo-digital/agent-pipelines/kernel/plan"
)

// StepsDone returns the number of steps that are complete or skipped.
func (n Node) StepsDone() int {
	done := 0
	for _, id := range n.Order {
		if n.Steps[id].Status.Done() {
			done++
		}
	}
	return done
}

// CheckDependencies returns the failed or blocked step that blocks st, else whether all its dependencies are done.
func (n Node) CheckDependencies(st Step) (by string, ready bool) {
	ready = true
	for _, id := range st.DependsOn {
		switch before := n.Steps[id].Status; {
		case before == StepFailed || before == StepBlocked:
			return id, false
		case !before.Done():
			ready = false
		}
	}
	return "", ready
}

// RetrySteps makes the failed steps, and the steps that they blocked, ready again.
func (n *Node) RetrySteps() {
	for _, id := range n.Order {
		if st := n.Steps[id]; st.Status == StepFailed || st.Status == StepBlocked {
			st.Status, st.Loop = StepPending, Loop{LastIteration: LastIteration{Feedback: st.Loop.Feedback}}
			n.Steps[id] = st
		}
	}
}

// RepeatSteps makes complete steps ready again after a pass with a bad result: the named steps, or all if no name
// matches. Skipped steps stay skipped.
func (n *Node) RepeatSteps(named []string) {
	if !slices.ContainsFunc(n.Order, func(id string) bool { return slices.Contains(named, id) }) {
		named = nil
	}
	for _, id := range n.Order {
		if st := n.Steps[id]; st.Status == StepComplete && (len(named) == 0 || slices.Contains(named, id)) {
			st.Status, st.Loop = StepPending, Loop{}
			n.Steps[id] = st
		}
	}
}

// SkipFailedSteps marks failed steps as skipped and blocked steps as pending. It reports whether a step had failed.
func (n *Node) SkipFailedSteps() (found bool) {
	for _, id := range n.Order {
		st := n.Steps[id]
		switch st.Status {
		case StepFailed:
			found = true
			st.Status, st.Loop, st.Reason = StepSkipped, Loop{}, "skipped by the user: "+st.Reason
		case StepBlocked:
			st.Status, st.Reason = StepPending, ""
		}
		n.Steps[id] = st
	}
	return found
}

// ReopenBranches lets failed providers continue where they failed. [Loop.Resume] must have made their loops ready.
func (n *Node) ReopenBranches() {
	for id, b := range n.Branches {
		if b.Status == NodeFailed {
			b.Status, b.HookCursor = NodeRunning, b.HookCursor.Reopen(plan.PointParallelProviderEnd)
			n.Branches[id] = b
		}
	}
}

package progress

import (
	"cmp"
	"fmt"

	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/kernel/state"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
)

// endPass ends a pass when no step is left: with the first failure, or by starting the checks.
func endPass(n *plan.Node, ns *state.Node) {
	var failed *state.Step
	for _, id := range ns.Order {
		switch st := ns.Steps[id]; {
		case st.Status == state.StepPending || st.Status == state.StepRunning:
			return
		case st.Status != state.StepFailed || failed != nil && st.Loop.Outcome != string(plan.OutcomeEscalate):
		case failed == nil || failed.Loop.Outcome != string(plan.OutcomeEscalate): // an escalation comes first
			failed = &st
		}
	}
	if failed == nil {
		startChecks(n, &ns.Loop)
		return
	}
	l := &ns.Loop
	l.Phase, l.Failure, l.IterationStartedAt = state.PhaseSettled, stepFailure(n, *failed), nil
	l.Outcome, l.Reason = failed.Loop.Outcome, l.Failure.Message
	l.Feedback, l.Message, l.Verdict = failed.Loop.Feedback, l.Failure.Message, failed.Loop.Verdict
}

// stepFailure returns the node's failure for a failed step.
func stepFailure(n *plan.Node, st state.Step) *event.FailureData {
	f := event.FailureData{Code: failure.AgentError.Code(), ErrorType: string(failure.AgentError), Message: cmp.Or(st.Reason, "no reason given")}
	if st.Loop.Failure != nil {
		f = *st.Loop.Failure
	}
	f.Node, f.Stage, f.Step, f.Usage, f.Collateral = n.ID, n.ID, st.ID, nil, false
	switch failure.Kind(f.ErrorType) {
	case failure.IterationTimeout:
		f.Code = codeStepTimeout
	case failure.BudgetExceeded, failure.TurnLimit, failure.SandboxViolation, failure.ApprovalDenied, failure.ApprovalRequired: // failures of these kinds keep their own code
	default:
		f.Code = failure.StepFailed.Code()
	}
	f.Message = fmt.Sprintf("step %s failed: %s", st.ID, f.Message)
	return &f
}

// codeStepTimeout is the code of a step that timed out (DIALECT B8).
const codeStepTimeout = "ACODE-EXEC-006"

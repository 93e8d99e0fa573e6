package state

import (
	"cmp"
	"slices"

	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
)

// Finish ends the loop with the outcome of its last iteration; no outcome means success.
func (l *Loop) Finish(reason string) {
	l.Phase, l.Outcome, l.Reason, l.Failure = PhaseSettled, cmp.Or(l.Verdict, string(plan.OutcomeSuccess)), reason, nil
	l.IterationStartedAt = nil
	if l.Outcome != string(plan.OutcomeSuccess) {
		l.Reason = cmp.Or(l.Message, reason)
	}
}

// Fail ends the loop with a failure.
func (l *Loop) Fail(d *event.FailureData) {
	l.Phase, l.Outcome, l.Reason, l.Failure = PhaseSettled, string(FailureOutcome(d)), d.Message, d
	l.IterationStartedAt, l.Checkpoint, l.Calls = nil, nil, nil
}

// FailureOutcome returns the outcome of failed work.
func FailureOutcome(d *event.FailureData) plan.Outcome {
	switch failure.Kind(d.ErrorType) {
	case failure.IterationTimeout:
		return plan.OutcomeTimeout
	case failure.BudgetExceeded:
		return plan.OutcomeBudget
	default:
		return plan.OutcomeError
	}
}

// StartAfter sets the loop to begin after the given iteration.
func (l *Loop) StartAfter(last int) { l.Before, l.Completed, l.Iteration = last, last, last }

// Recover continues the loop after the kernel that worked on it has died.
func (l *Loop) Recover(recovery plan.Recovery) {
	switch l.Phase {
	case PhaseAsking:
		l.Phase = PhaseQuestion
	case PhaseAttempt:
		l.recoverAttempt(recovery)
	}
}

func (l *Loop) recoverAttempt(recovery plan.Recovery) {
	if recovery != plan.RecoveryFail && l.HasUncertainCall() {
		recovery = plan.RecoveryAsk
	}
	switch recovery {
	case plan.RecoveryAsk:
		l.Phase, l.Failure = PhaseCutOff, nil
	case plan.RecoveryFail:
		l.Fail(&event.FailureData{
			Code: failure.ProviderCrashed.Code(), ErrorType: string(failure.ProviderCrashed), Iteration: l.Iteration,
			Message: "a crash interrupted the attempt and the node's recovery is fail", Escalate: true,
		})
	default: // rerun
		l.RepeatAttempt()
	}
}

// RepeatAttempt makes an interrupted attempt ready again. The iteration starts over at attempt 1 (U069), except if the
// attempt is for the invalid artifact of an earlier attempt.
func (l *Loop) RepeatAttempt() {
	l.Phase = PhaseReady
	if l.IsArtifactRetry() && l.Attempt > 1 {
		l.Attempt--
		return
	}
	l.Attempt, l.Failure, l.IterationStartedAt = 0, nil, nil
}

// IsArtifactRetry reports whether the current or next attempt is for an invalid artifact.
func (l Loop) IsArtifactRetry() bool { return l.Failure != nil && len(l.Failure.Faults) > 0 }

// HasUncertainCall reports whether a call that must not run twice was interrupted.
func (l Loop) HasUncertainCall() bool { return slices.ContainsFunc(l.Calls, Call.IsUncertain) }

// IsUncertain reports whether the call may have run and must not run twice.
func (c Call) IsUncertain() bool {
	return c.Result == nil && c.Call.Verdict == "run" && c.Call.Effect != "none" && c.Call.Effect != "idempotent"
}

// Resume continues a loop of the current node after a resume. A failed loop retries where it failed, with renewed
// attempts. An interrupted attempt is repeated if the user was asked about it. A waiting retry starts at once.
func (l *Loop) Resume(asked bool) {
	switch {
	case l.Phase == PhaseBackoff:
		l.Phase = PhaseReady
	case l.Phase == PhaseCutOff && asked:
		l.Phase, l.Attempt, l.IterationStartedAt, l.Failure = PhaseReady, 0, nil, nil
	case l.Phase == PhaseSettled && l.Outcome != string(plan.OutcomeSuccess):
		l.Outcome, l.Reason, l.Failure, l.Attempt, l.Round = "", "", nil, 0, 0
		l.Phase = PhaseReady
		if l.Completed == l.Iteration && l.Iteration > 0 && !l.continues() {
			l.Phase = PhaseDecide
		}
	}
}

// continues reports whether the strategy decided to continue after the last iteration.
func (l Loop) continues() bool {
	n := len(l.Decisions)
	return n > 0 && l.Decisions[n-1].Iteration == l.Completed && l.Decisions[n-1].Action == "continue"
}

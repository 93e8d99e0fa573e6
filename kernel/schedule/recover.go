package schedule

import (
	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/kernel/state"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
)

// recoverLoop returns the loop after the kernel that worked on it has died.
func recoverLoop(recovery plan.Recovery, l state.Loop) state.Loop {
	switch l.Phase {
	case state.PhaseAsking:
		l.Phase = state.PhaseQuestion
	case state.PhaseAttempt:
		return recoverAttempt(recovery, l)
	}
	return l
}

func recoverAttempt(recovery plan.Recovery, l state.Loop) state.Loop {
	if recovery != plan.RecoveryFail && hasUncertainCall(l.Calls) {
		recovery = plan.RecoveryAsk
	}
	switch recovery {
	case plan.RecoveryAsk:
		l.Phase, l.Failure = state.PhaseCutOff, nil
	case plan.RecoveryFail:
		settleFailed(&l, &event.FailureData{
			Code: failure.ProviderCrashed.Code(), ErrorType: string(failure.ProviderCrashed), Iteration: l.Iteration,
			Message: "a crash interrupted the attempt and the node's recovery is fail", Escalate: true,
		})
	default: // rerun
		repeatAttempt(&l)
	}
	return l
}

// repeatAttempt makes an interrupted attempt ready again. The iteration starts over at attempt 1 (U069), except where
// an earlier attempt has ended and this one is for its invalid artifact.
func repeatAttempt(l *state.Loop) {
	l.Phase = state.PhaseReady
	if isArtifactRetry(*l) && l.Attempt > 1 {
		l.Attempt--
		return
	}
	l.Attempt, l.Failure, l.IterationStartedAt = 0, nil, nil
}

// isArtifactRetry reports whether the current or next attempt is for an invalid artifact.
func isArtifactRetry(l state.Loop) bool { return l.Failure != nil && len(l.Failure.Faults) > 0 }

// resumeLoop returns the loop of the current node after a resume. A failed loop retries where it failed, with renewed
// attempts; an interrupted attempt is repeated if asked is set; a waiting retry starts at once.
func resumeLoop(l state.Loop, asked bool) state.Loop {
	switch {
	case l.Phase == state.PhaseBackoff:
		l.Phase = state.PhaseReady
	case l.Phase == state.PhaseCutOff && asked:
		l.Phase, l.Attempt, l.IterationStartedAt, l.Failure = state.PhaseReady, 0, nil, nil
	case l.Phase == state.PhaseSettled && l.Outcome != string(plan.OutcomeSuccess):
		l.Outcome, l.Reason, l.Failure, l.Attempt, l.Round = "", "", nil, 0, 0
		l.Phase = state.PhaseReady
		if l.Completed == l.Iteration && l.Iteration > 0 && !continues(l) {
			l.Phase = state.PhaseDecide
		}
	}
	return l
}

// continues reports whether the strategy decided to continue after the last iteration.
func continues(l state.Loop) bool {
	n := len(l.Decisions)
	return n > 0 && l.Decisions[n-1].Iteration == l.Completed && l.Decisions[n-1].Action == "continue"
}

package schedule

import (
	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/kernel/state"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
)

// recovered is the loop after the kernel that worked on it is gone.
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
			Message: "the attempt was cut off by a crash and the node's recovery is fail", Escalate: true,
		})
	default: // rerun
		repeatAttempt(&l)
	}
	return l
}

// makeAgain lets an attempt without an end be made once more. The iteration starts over at attempt 1 (U069), but not where
// an earlier attempt of it has ended, and this one is for its bad artifact.
func repeatAttempt(l *state.Loop) {
	l.Phase = state.PhaseReady
	if isArtifactRetry(*l) && l.Attempt > 1 {
		l.Attempt--
		return
	}
	l.Attempt, l.Failure, l.IterationStartedAt = 0, nil, nil
}

// healing reports whether the attempt under way, or the next one, is made because of a bad artifact.
func isArtifactRetry(l state.Loop) bool { return l.Failure != nil && len(l.Failure.Faults) > 0 }

// resumed is the loop of the current node after a person said to go on: a failed loop tries again
// where it failed, with its retries renewed; an attempt cut off may be made again if that was asked; a
// loop that waits to try again does so at once.
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

// goesOn reports whether the strategy has decided on the last iteration, to go on.
func continues(l state.Loop) bool {
	n := len(l.Decisions)
	return n > 0 && l.Decisions[n-1].Iteration == l.Completed && l.Decisions[n-1].Action == "continue"
}

package progress

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/kernel/state"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
)

// applyAttemptStart begins an attempt or, under check_before, the decision that precedes the first attempt.
func (e loopEvent) applyAttemptStart() error {
	e.current.Iteration = e.loop.Completed + 1
	if e.Type == event.AttemptStart && e.loop.Check != state.CheckPassed {
		return invalidTransition(e.Event, fmt.Sprintf("the check before the iteration is %q", e.loop.Check))
	}
	return e.expect(state.PhaseReady, e.current.Key(event.KeyAttempt, e.loop.Attempt+1), func(l *state.Loop) {
		started := e.Time
		if l.Iteration != e.loc.Iteration || l.IterationStartedAt == nil {
			l.IterationStartedAt, l.Uncharged, l.ArtifactRetries = &started, 0, 0
		}
		l.Iteration = e.loc.Iteration
		if l.Check == state.CheckDue {
			l.Phase = state.PhaseDecide
			return
		}
		if l.Attempt > 0 && !l.IsArtifactRetry() { // a retry starts over; only an interrupted attempt continues
			l.Checkpoint, l.Calls = nil, nil
		}
		l.Phase, l.Attempt, l.Check, l.ContextConsumed = state.PhaseAttempt, l.Attempt+1, "", len(e.state.Context)
		if PassesSteps(e.node, e.loc) {
			l.Phase = state.PhaseSteps
		}
	})
}

// applyIterationComplete settles the loop at once if the agent reports an error (U088) or needs the user, and after a
// pass over steps. Otherwise the strategy decides.
func (e loopEvent) applyIterationComplete(d event.IterationCompleteData) error {
	phase, key := state.PhaseAttempt, e.current.Key(event.KeyAttempt, e.loop.Attempt)
	if e.Key.Kind() == event.KeySettle {
		phase, key = state.PhaseSettle, e.loop.SettleKey(e.current)
	}
	return e.expect(phase, key, func(l *state.Loop) {
		result := d.Result
		l.Phase, l.Hint, l.Result = state.PhaseDecide, agentHint(e.node.Termination, d, l.Iteration-l.Before), &result
		l.Attempt, l.Uncharged, l.ArtifactRetries, l.IterationStartedAt, l.Failure, l.Faults, l.Checkpoint, l.Calls = 0, 0, 0, nil, nil, nil, nil, nil
		recordSettlement(l, d.Settlement)
		if d.AgentDecision == "error" {
			l.Fail(agentError(e.Event, d))
			return
		}
		l.Completed, l.Injected = l.Iteration, nil
		if PassesSteps(e.node, e.current) || l.Verdict == string(plan.OutcomeEscalate) || l.Verdict == string(plan.OutcomeError) {
			l.Finish(l.Message)
		}
	})
}

// agentHint returns the decision that the agent itself asked for. After the last of a fixed number of iterations it
// drops a stop that the history does not show. The Bash engine then reads no decision in result.json and reports the
// number of iterations as the reason.
func agentHint(t plan.Termination, d event.IterationCompleteData, iteration int) string {
	if t.Type() == plan.TypeFixed && iteration == t.Max() && d.AgentDecision == "stop" && d.Decision != "stop" {
		return ""
	}
	return d.AgentDecision
}

func agentError(e event.Event, d event.IterationCompleteData) *event.FailureData {
	return &event.FailureData{
		Code: failure.AgentError.Code(), ErrorType: string(failure.AgentError),
		Message: cmp.Or(d.Reason, d.Summary, "the agent reported an error"),
		Stage:   d.Stage, Node: d.Stage, Iteration: e.Cursor.Iteration,
	}
}

// applyAttemptError retries transient failures within the node's attempts, unless the service asks for a longer wait
// than maxRetryAfter.
//
// An attempt that was stopped on request, or whose process crashed during another call, is not counted. No attempt is
// repeated while a call is open that must not run twice, or after a question expired: the user is asked first. An
// invalid artifact is requested again at once, which is not counted either. After these requests, or if steps
// produced the artifact, the stage is retried.
func (e loopEvent) applyAttemptError(d event.FailureData) error {
	n, current, stopping := e.node, e.current, e.state.Stop != nil
	phase, key := state.PhaseAttempt, current.Key(event.KeyAttempt, e.loop.Attempt)
	switch l := e.loop; {
	case e.Key.Kind() == event.KeySettle: // an invalid artifact
		phase, key = state.PhaseSettle, l.SettleKey(current)
	case l.Phase == state.PhaseReady && d.ErrorType == string(failure.BudgetExceeded): // an attempt that does not begin
		current.Iteration = l.Completed + 1
		phase, key = state.PhaseReady, current.Key(event.KeyAttempt, l.Attempt+1)
	case l.Phase == state.PhaseQuestion: // a question that is not asked
		phase, key = state.PhaseQuestion, current.Key(event.KeyQuestion, l.Round+1)
	}
	return e.expect(phase, key, func(l *state.Loop) {
		if stopping && d.System && phase == state.PhaseSettle {
			return // the work is done and stored: it is settled again after the resume
		}
		l.CompletedAttempt = nil
		if len(d.Faults) > 0 {
			l.Faults = d.Faults
		}
		stopped := stopping && causedByStop(&d)
		uncharged := d.Collateral && l.Uncharged < maxUncharged
		repeat := stopped || uncharged || d.Retryable && l.Attempt-l.ArtifactRetries < MaxAttempts(e.plan, *e.state, n, e.loc) && d.RetryAfter <= maxRetryAfter
		switch {
		case len(d.Faults) > 0 && n.Steps == nil && l.ArtifactRetries < n.Artifact.MaxRetries():
			l.Phase, l.Failure, l.ArtifactRetries = state.PhaseReady, &d, l.ArtifactRetries+1
		case len(d.Faults) > 0:
			l.Fail(&d)
		case d.Escalate:
			l.Phase, l.Failure = state.PhaseCutOff, &d
		case repeat && l.HasUncertainCall():
			l.Phase, l.Failure = state.PhaseCutOff, nil
		case stopped:
			l.RepeatAttempt()
		case uncharged:
			l.Phase, l.Attempt, l.Uncharged = state.PhaseReady, l.Attempt-1, l.Uncharged+1
		case repeat:
			l.Phase, l.Failure = state.PhaseBackoff, &d
		default:
			l.Fail(&d)
		}
	})
}

// applyAttemptComplete ends an attempt whose outcome must still be settled.
func (e loopEvent) applyAttemptComplete(d event.AttemptCompleteData) error {
	return e.expect(state.PhaseAttempt, e.current.Key(event.KeyAttempt, e.loop.Attempt), func(l *state.Loop) {
		l.CompletedAttempt, l.Failure, l.Checkpoint, l.Calls = &d, nil, nil, nil
		startChecks(e.node, l)
	})
}

// recordSettlement stores the outcome of an iteration.
func recordSettlement(l *state.Loop, d event.Settlement) {
	l.Verdict, l.Message, l.Feedback, l.FailedSteps, l.Content = d.Outcome, d.Message, d.Feedback, d.FailedSteps, d.Content
	l.CompletedAttempt, l.Artifact = nil, cmp.Or(d.Artifact, d.Partial)
}

// applyToolEvent stores the calls of the attempt in flight that the kernel decides on; observed calls only inform. A
// checkpoint contains the calls that are over, with a result or refused, so these are dropped.
func (e loopEvent) applyToolEvent(call event.ToolCallData) error {
	return e.expect(state.PhaseAttempt, e.current.Key(event.KeyAttempt, e.loop.Attempt), func(l *state.Loop) {
		switch {
		case call.Observed:
		case e.Type == event.ToolCall:
			l.Calls = append(slices.DeleteFunc(l.Calls, func(c state.Call) bool { return c.Call.CallID == call.CallID }), state.Call{Call: call})
		case e.Type == event.ToolResult:
			finishCall(l, e.Event)
		case e.Type == event.Checkpoint:
			d, _ := event.Decode[event.CheckpointData](e.Event) // decode has parsed the JSON already
			l.Checkpoint = &d
			l.Calls = slices.DeleteFunc(l.Calls, func(c state.Call) bool { return c.Result != nil || c.Call.Verdict != "run" })
		}
	})
}

func finishCall(l *state.Loop, e event.Event) {
	d, err := event.Decode[event.ToolResultData](e)
	if err != nil {
		return
	}
	for i := range l.Calls {
		if l.Calls[i].Call.CallID == d.CallID {
			l.Calls[i].Result = &d
		}
	}
}

// maxRetryAfter is the longest wait in seconds that a service may ask for. Beyond it the session fails and can be
// resumed later.
const maxRetryAfter = 6 * 3600

// maxUncharged is the maximum number of uncounted attempts of one iteration whose process crashed during another call.
const maxUncharged = 5

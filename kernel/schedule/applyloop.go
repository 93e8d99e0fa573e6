package schedule

import (
	"cmp"
	"fmt"

	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/kernel/state"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
)

// applyLoop applies an event of an iteration loop of the running node. Its key must be the one that the loop waits
// for; any other event is a late delivery.
func applyLoop(p *plan.Plan, s *state.State, e event.Event) error {
	_, loc, _, ok := e.Key.Parse()
	if !ok {
		return invalidTransition(e, fmt.Sprintf("key %q has no location", e.Key))
	}
	n, ns := StageAt(p, *s, loc), s.Nodes[loc.Outer()]
	ref, ok := ns.FindLoop(loc)
	if n == nil || !ok || loc.Outer() != s.At || ns.Status != state.NodeRunning {
		return invalidTransition(e, "the run is not at "+loc.Node)
	}
	l, err := applyToLoop(p, *s, n, ref, loc, e)
	if err != nil {
		return err
	}
	result := decodeAttemptResult(e)
	accountUsage(p, s, &l, ref.Loop, loc, e, result.Usage)
	ns.SetLoop(loc, l)
	if l.Phase == state.PhaseSteps && ns.Order != nil { // a pass without pending steps
		endPass(n, &ns)
	}
	if attemptEnded(e) {
		if e.Type != event.Error {
			ns.Output = result.Output
			if st, isStep := ns.Steps[loc.Step]; isStep {
				st.Output = ns.Output
				ns.Steps[loc.Step] = st
			}
		}
		if loc.Branch == "" && e.Type != event.Error { // in a block the context is for every provider: see applyBranchComplete
			s.ConsumeContext(ref.Loop.ContextConsumed)
		}
		// The attempt asks no questions any more.
		s.DropQuestions(func(q state.Question) bool { return q.Kind == event.QuestionTool && q.Key == e.Key })
	}
	if e.Type == event.IterationComplete && loc.Branch == "" && result.Artifact != nil {
		ns.SetArtifact(event.Artifact, *result.Artifact)
	}
	if loc.Branch != "" {
		nextBranchStage(p.Find(s.At), &ns, loc.Branch)
	}
	s.Nodes[s.At] = ns
	return nil
}

// attemptEnded reports whether the event ends an attempt. Its iteration may still have to be settled.
func attemptEnded(e event.Event) bool {
	switch e.Type {
	case event.AttemptComplete, event.IterationComplete, event.Error:
		return e.Key.Kind() == event.KeyAttempt
	default:
		return false
	}
}

func applyToLoop(p *plan.Plan, s state.State, n *plan.Node, ref state.LoopRef, loc event.Location, e event.Event) (state.Loop, error) {
	l, current := ref.Loop, ref.Location
	switch e.Type {
	case event.IterationStart, event.AttemptStart, event.Retry:
		return applyAttemptStart(n, len(s.Context), l, current, loc, e)
	case event.AttemptComplete:
		return applyAttemptComplete(n, l, current, e)
	case event.CheckResult:
		return applyCheckResult(s, n, l, current, e)
	case event.IterationComplete:
		return applyIterationComplete(n, l, current, e)
	case event.Error:
		return applyAttemptError(n, maxAttempts(p, s, n, loc), s.Stop != nil, l, current, e)
	case event.ToolCall, event.ToolResult, event.Checkpoint:
		return applyToolEvent(l, current, e)
	case event.Decision:
		return applyDecision(n, s, l, current, e)
	case event.StrategyQuestion:
		return expect(l, e, state.PhaseQuestion, current.Key(event.KeyQuestion, l.Round+1), func(l *state.Loop) {
			l.Phase = state.PhaseAsking
		})
	case event.StrategyAnswer:
		return applyStrategyAnswer(s.Stop != nil, l, current, e)
	default:
		return l, invalidTransition(e, "not an event of a loop")
	}
}

// applyAttemptStart begins an attempt, or the check before it. In older journals iteration_start follows the check,
// in place of attempt_start.
func applyAttemptStart(n *plan.Node, contextBytes int, l state.Loop, current, loc event.Location, e event.Event) (state.Loop, error) {
	current.Iteration = l.Completed + 1
	if e.Type == event.AttemptStart && l.Check != state.CheckPassed {
		return l, invalidTransition(e, fmt.Sprintf("the check before the iteration is %q", l.Check))
	}
	return expect(l, e, state.PhaseReady, current.Key(event.KeyAttempt, l.Attempt+1), func(l *state.Loop) {
		started := e.Time
		if l.Iteration != loc.Iteration || l.IterationStartedAt == nil {
			l.IterationStartedAt, l.Uncharged, l.ArtifactRetries = &started, 0, 0
		}
		l.Iteration = loc.Iteration
		if l.Check == state.CheckDue {
			l.Phase = state.PhaseDecide
			return
		}
		if l.Attempt > 0 && !l.IsArtifactRetry() { // a retry starts over; only an interrupted attempt continues
			l.Checkpoint, l.Calls = nil, nil
		}
		l.Phase, l.Attempt, l.Check, l.ContextConsumed = state.PhaseAttempt, l.Attempt+1, "", contextBytes
		if passesSteps(n, loc) {
			l.Phase = state.PhaseSteps
		}
	})
}

// applyIterationComplete settles the loop at once if the agent reports an error (U088) or needs the user, and after a
// pass over steps; otherwise the strategy decides.
func applyIterationComplete(n *plan.Node, l state.Loop, current event.Location, e event.Event) (state.Loop, error) {
	d, err := event.Decode[event.IterationCompleteData](e)
	if err != nil {
		return l, err
	}
	phase, key := state.PhaseAttempt, current.Key(event.KeyAttempt, l.Attempt)
	if e.Key.Kind() == event.KeySettle {
		phase, key = state.PhaseSettle, l.SettleKey(current)
	}
	return expect(l, e, phase, key, func(l *state.Loop) {
		result := d.Result
		l.Phase, l.Hint, l.Result = state.PhaseDecide, agentHint(n.Termination, d, l.Iteration-l.Before), &result
		l.Attempt, l.Uncharged, l.ArtifactRetries, l.IterationStartedAt, l.Failure, l.Faults, l.Checkpoint, l.Calls = 0, 0, 0, nil, nil, nil, nil, nil
		recordSettlement(l, d.Settlement)
		if d.AgentDecision == "error" {
			l.Fail(agentError(e, d))
			return
		}
		l.Completed, l.Injected = l.Iteration, nil
		if passesSteps(n, current) || l.Verdict == string(plan.OutcomeEscalate) || l.Verdict == string(plan.OutcomeError) {
			l.Settle(l.Message)
		}
	})
}

// agentHint returns the decision that the agent itself asked for. After the last of a fixed number of iterations it
// drops a stop that the history does not show: the Bash engine reads none in result.json and reports the plan as the
// reason.
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
// An attempt that was stopped on request, or that failed with the process of another call, is not charged. No attempt
// is repeated while a call is open that must not run twice, or after a question expired: the user is asked first. An
// invalid artifact is requested again at once without charge; after that, or if steps produced it, the stage is
// retried.
func applyAttemptError(n *plan.Node, allowed int, stopping bool, l state.Loop, current event.Location, e event.Event) (state.Loop, error) {
	d, err := event.Decode[event.FailureData](e)
	if err != nil {
		return l, err
	}
	phase, key := state.PhaseAttempt, current.Key(event.KeyAttempt, l.Attempt)
	switch {
	case e.Key.Kind() == event.KeySettle: // an invalid artifact
		phase, key = state.PhaseSettle, l.SettleKey(current)
	case l.Phase == state.PhaseReady && d.ErrorType == string(failure.BudgetExceeded): // an attempt that does not begin
		current.Iteration = l.Completed + 1
		phase, key = state.PhaseReady, current.Key(event.KeyAttempt, l.Attempt+1)
	case l.Phase == state.PhaseQuestion: // a question that is not asked
		phase, key = state.PhaseQuestion, current.Key(event.KeyQuestion, l.Round+1)
	}
	return expect(l, e, phase, key, func(l *state.Loop) {
		if stopping && d.System && phase == state.PhaseSettle {
			return // the work is done and stored: it is settled again after the resume
		}
		l.CompletedAttempt = nil
		if len(d.Faults) > 0 {
			l.Faults = d.Faults
		}
		stopped := stopping && causedByStop(&d)
		uncharged := d.Collateral && l.Uncharged < maxUncharged
		repeat := stopped || uncharged || d.Retryable && l.Attempt-l.ArtifactRetries < allowed && d.RetryAfter <= maxRetryAfter
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

// causedByStop reports whether the failure has a kind by which effects report that they were stopped, or is a failure
// of the machine, for which the run stops.
//
// It counts only while the run is being stopped: if a plugin reported it by itself, the effect would be requested
// again at once and forever.
func causedByStop(d *event.FailureData) bool {
	return d.System || d.ErrorType == string(failure.SignalInterrupt) || d.ErrorType == string(failure.Aborted)
}

func applyDecision(n *plan.Node, s state.State, l state.Loop, current event.Location, e event.Event) (state.Loop, error) {
	d, err := event.Decode[event.DecisionData](e)
	if err != nil {
		return l, err
	}
	phase := state.PhaseDecide
	if l.Check == state.CheckDue && l.Phase == state.PhaseReady { // in older journals the iteration begins after its check
		phase = state.PhaseReady
	}
	return expect(l, e, phase, current.Key(event.KeyDecide, l.Round+1), func(l *state.Loop) {
		if s.Stop != nil && d.Failure != nil && causedByStop(d.Failure) {
			return // it was interrupted; the strategy is asked again after the resume
		}
		if d.State != nil {
			l.Strategy = d.State
		}
		if d.Action == "ask" && l.Round < maxRounds && d.Question != nil {
			l.Phase, l.Question, l.Answer = state.PhaseQuestion, d.Question, nil
			return
		}
		l.EndedByJudge = d.Action == "stop" && l.Round > 0
		l.Round, l.Question, l.Answer = 0, nil, nil
		l.Decisions = append(l.Decisions, state.Decision{Iteration: l.Completed, Hint: l.Hint, Action: d.Action, Reason: d.Reason})
		l.Decisions = l.Decisions[max(0, len(l.Decisions)-state.MaxDecisions):]
		applyAction(n, s.SkipDelays, l, d)
	})
}

func applyAction(n *plan.Node, skipDelays bool, l *state.Loop, d event.DecisionData) {
	limit := n.Termination.Max()
	switch {
	case d.Action == "stop":
		l.Settle(d.Reason)
	case d.Action == "continue" && limit > 0 && l.CountedIterations() >= limit:
		l.Settle("max_iterations")
	case d.Action == "continue" && l.Check == state.CheckDue:
		l.Phase, l.Check = state.PhaseReady, state.CheckPassed
	case d.Action == "continue" && (skipDelays || n.IterationDelay() <= 0):
		l.Phase = state.PhaseReady
	case d.Action == "continue":
		l.Phase = state.PhaseDelay
	case d.Failure != nil:
		l.Fail(d.Failure)
	default:
		l.Fail(&event.FailureData{
			Code: failure.StrategyFailed.Code(), ErrorType: string(failure.StrategyFailed), Node: n.ID, Stage: n.ID,
			Message: fmt.Sprintf("termination strategy %s: %s", d.Strategy, cmp.Or(d.Reason, "it answered "+d.Action)),
		})

	}
}

func applyStrategyAnswer(stopping bool, l state.Loop, current event.Location, e event.Event) (state.Loop, error) {
	d, err := event.Decode[event.StrategyAnswerData](e)
	if err != nil {
		return l, err
	}
	return expect(l, e, state.PhaseAsking, current.Key(event.KeyQuestion, l.Round+1), func(l *state.Loop) {
		if stopping && causedByStop(&event.FailureData{ErrorType: d.Error, System: d.System}) {
			l.Phase = state.PhaseQuestion
			return
		}
		l.Phase, l.Answer, l.Round = state.PhaseDecide, &d, l.Round+1
	})
}

// applyTimerFired continues the loop that waited for the timer.
func applyTimerFired(s *state.State, e event.Event) error {
	if _, armed := s.Timers[e.Key]; !armed {
		return invalidTransition(e, "no such timer is armed")
	}
	if s.Timers[e.Key].Purpose == state.PurposeGuardrail {
		return applyGuardrailReached(s, e)
	}
	if s.Timers[e.Key].Purpose == state.PurposeEscalation {
		expireEscalation(s, e.Key)
	}
	delete(s.Timers, e.Key)
	_, loc, _, _ := e.Key.Parse() // only keys that parse have timers
	n := s.Nodes[loc.Outer()]
	ref, ok := n.FindLoop(loc)
	if ok && (ref.Loop.Phase == state.PhaseDelay || ref.Loop.Phase == state.PhaseBackoff) {
		ref.Loop.Phase = state.PhaseReady
		n.SetLoop(loc, ref.Loop)
		s.Nodes[loc.Outer()] = n
	}
	return nil
}

func applyTimerSet(s *state.State, e event.Event) error {
	d, err := event.Decode[event.TimerSetData](e)
	if err != nil {
		return err
	}
	if kind, _, _, ok := e.Key.Parse(); !ok || kind != event.KeyTimer {
		return invalidTransition(e, fmt.Sprintf("key %q is not that of a timer", e.Key))
	}
	if s.Timers == nil {
		s.Timers = map[event.Key]state.Timer{}
	}
	s.Timers[e.Key] = state.Timer{Purpose: d.Purpose, Due: e.Time.Add(d.After)}
	return nil
}

// expect applies change if the loop is in the phase and waits for the key.
func expect(l state.Loop, e event.Event, phase state.Phase, key event.Key, change func(*state.Loop)) (state.Loop, error) {
	if l.Phase != phase || e.Key != key {
		return l, invalidTransition(e, fmt.Sprintf("the loop is in phase %s and waits for %s", l.Phase, key))
	}
	change(&l)
	return l, nil
}

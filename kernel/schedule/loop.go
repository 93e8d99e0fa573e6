package schedule

import (
	"fmt"
	"math"
	"time"

	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/kernel/state"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
)

const (
	defaultAttempts = 2   // of a plain node (REQUIREMENTS K6)
	defaultDelay    = 3.0 // seconds between iterations (U089)
	firstBackoff    = 2.0 // seconds, doubled for each further attempt (U100)
	maxBackoff      = 30.0
	maxSpared       = 5 // attempts of one iteration that may fall with another call's process
	maxRounds       = 4 // questions of one decision (DESIGN 4)
)

// decideLoop is one iteration loop: attempt, decide, delay, and again.
func decideLoop(s state.State, n *plan.Node, at event.Place, l state.Loop) []Command {
	switch l.Phase {
	case state.PhaseReady:
		return startAttempt(n, at, l)
	case state.PhaseBackoff:
		return setTimer(s, at, "backoff", l.Attempt+1, backoff(n, l)) // before that attempt
	case state.PhaseDelay:
		return setTimer(s, at, "delay", 1, delay(n))
	case state.PhaseDecide:
		return []Command{{Kind: Strategy, Key: at.Key(event.KeyDecide, l.Round+1), Place: at, Round: l.Round}}
	case state.PhaseQuestion:
		return putQuestion(at, l)
	case state.PhaseCutOff:
		return askAboutCutOff(s, n, at, l)
	default: // an effect is under way
		return nil
	}
}

// startAttempt begins the next iteration, or the next attempt of the unfinished one.
func startAttempt(n *plan.Node, at event.Place, l state.Loop) []Command {
	at.Iteration = l.Completed + 1
	attempt := l.Attempt + 1
	key := at.Key(event.KeyAttempt, attempt)
	var e event.Event
	if attempt == 1 {
		d := event.IterationStartData{Stage: n.ID, Type: n.Ref}
		if n.Provider != nil {
			d.Provider, d.Model = n.Provider.Type, n.Provider.Model
		}
		e = event.New(event.IterationStart, at.Cursor(), key, d)
	} else {
		e = event.New(event.Retry, at.Cursor(), key, event.RetryData{Rung: "attempt", N: attempt, Max: attempts(n)})
	}
	e.Attempt = attempt
	return []Command{{Kind: Attempt, Key: key, Event: &e, Place: at, Attempt: attempt}}
}

// setTimer arms the loop's timer, once.
func setTimer(s state.State, at event.Place, purpose string, i int, after time.Duration) []Command {
	key := at.Key(event.KeyTimer, i)
	if _, armed := s.Timers[key]; armed {
		return nil
	}
	return record(event.New(event.TimerSet, at.Cursor(), key, event.TimerSetData{Purpose: purpose, After: after}))
}

func putQuestion(at event.Place, l state.Loop) []Command {
	key := at.Key(event.KeyQuestion, l.Round+1)
	e := event.New(event.JudgeStart, at.Cursor(), key,
		event.JudgeStartData{Provider: l.Question.Provider, Model: l.Question.Model, Round: l.Round})
	return []Command{{Kind: Question, Key: key, Event: &e, Place: at, Round: l.Round}}
}

// askAboutCutOff serves recovery: ask. The run pauses; resuming it says that the attempt may be made
// again, aborting it that it may not.
func askAboutCutOff(s state.State, n *plan.Node, at event.Place, l state.Loop) []Command {
	key := at.Key(event.KeyAttempt, l.Attempt)
	text := fmt.Sprintf("iteration %d of %s was cut off by a crash and may have had effects", at.Iteration, n.ID)
	if _, asked := s.Questions[string(key)]; !asked {
		return record(event.New(event.QuestionAsked, at.Cursor(), key, event.QuestionAskedData{
			ID: string(key), Kind: "escalation", Text: text, Options: []string{"resume", "abort"}}))
	}
	return record(event.New(event.SessionPaused, at.Cursor(), "", event.SessionPausedData{
		Kind: string(state.PauseEscalation), Reason: text + "; resume makes it again, abort ends the run"}))
}

func delay(n *plan.Node) time.Duration {
	if n.Delay == nil {
		return seconds(defaultDelay)
	}
	return seconds(*n.Delay)
}

// backoff is the pause before the next attempt: what the service asked for, if that is longer than
// the ladder's own.
func backoff(n *plan.Node, l state.Loop) time.Duration {
	pause := firstBackoff * math.Pow(2, float64(l.Attempt-1))
	if r := retryPolicy(n); r != nil && len(r.Backoff) > 0 {
		pause = r.Backoff[min(l.Attempt, len(r.Backoff))-1]
	} else {
		pause = min(pause, maxBackoff)
	}
	if l.Failure != nil {
		pause = max(pause, l.Failure.RetryAfter)
	}
	return seconds(pause)
}

func attempts(n *plan.Node) int {
	if r := retryPolicy(n); r != nil && r.Attempts > 0 {
		return r.Attempts
	}
	return defaultAttempts
}

func retryPolicy(n *plan.Node) *plan.Retry {
	if n.Policy == nil {
		return nil
	}
	return n.Policy.Retry
}

func seconds(s float64) time.Duration {
	return time.Duration(min(s, math.MaxInt64/float64(time.Second)/2) * float64(time.Second))
}

// ---- Apply

// applyLoop applies an event that is about the loop of a running node. Its key has to be the one the
// loop waits for: anything else is a late delivery.
func applyLoop(p *plan.Plan, s *state.State, e event.Event) error {
	_, at, _, ok := e.Key.Parse()
	if !ok {
		return misfit(e, fmt.Sprintf("its key %q has no place", e.Key))
	}
	n, ns := p.Find(at.Node), s.Nodes[at.Node]
	if n == nil || at.Node != s.At || ns.Status != state.NodeRunning || at.Visit != ns.Visit {
		return misfit(e, "the run is not at "+at.Node)
	}
	l, err := loopAfter(p, *s, n, ns, at, e)
	if err != nil {
		return err
	}
	ns.Loop = l
	if e.Type == event.IterationComplete {
		d, _ := event.Decode[event.IterationCompleteData](e) // decoded without error above
		ns.Output = d.Output
		addUsage(&s.Usage, d.Usage)
		s.Context = ""
	}
	s.Nodes[at.Node] = ns
	return nil
}

func loopAfter(_ *plan.Plan, s state.State, n *plan.Node, ns state.Node, at event.Place, e event.Event) (state.Loop, error) {
	l := ns.Loop
	switch e.Type {
	case event.IterationStart, event.Retry:
		return attemptStarted(l, placeOf(at.Node, ns), at, e)
	case event.IterationComplete:
		return attemptDone(l, placeOf(at.Node, ns), e)
	case event.Error:
		return attemptFailed(n, l, placeOf(at.Node, ns), e)
	case event.Decision:
		return decided(n, s.SkipDelays, l, placeOf(at.Node, ns), e)
	case event.JudgeStart:
		return expect(l, e, state.PhaseQuestion, placeOf(at.Node, ns).Key(event.KeyQuestion, l.Round+1), func(l *state.Loop) {
			l.Phase = state.PhaseAsking
		})
	case event.JudgeComplete:
		return answered(l, placeOf(at.Node, ns), e)
	default:
		return l, misfit(e, "it is no event of a loop")
	}
}

func attemptStarted(l state.Loop, now, at event.Place, e event.Event) (state.Loop, error) {
	now.Iteration = l.Completed + 1
	return expect(l, e, state.PhaseReady, now.Key(event.KeyAttempt, l.Attempt+1), func(l *state.Loop) {
		started := e.Time
		if l.Iteration != at.Iteration || l.IterationStartedAt == nil {
			l.IterationStartedAt, l.Spared = &started, 0
		}
		l.Phase, l.Iteration, l.Attempt = state.PhaseAttempt, at.Iteration, l.Attempt+1
	})
}

// attemptDone settles the loop at once when the agent itself reports an error (U088); otherwise the
// strategy decides.
func attemptDone(l state.Loop, now event.Place, e event.Event) (state.Loop, error) {
	d, err := event.Decode[event.IterationCompleteData](e)
	if err != nil {
		return l, err
	}
	return expect(l, e, state.PhaseAttempt, now.Key(event.KeyAttempt, l.Attempt), func(l *state.Loop) {
		result := d.Result
		l.Phase, l.Hint, l.Result = state.PhaseDecide, d.Ask, &result
		l.Attempt, l.Spared, l.IterationStartedAt, l.Failure = 0, 0, nil, nil
		if d.Ask == "error" {
			settleFailed(l, agentError(e, d))
			return
		}
		l.Completed = l.Iteration
	})
}

func agentError(e event.Event, d event.IterationCompleteData) *event.FailureData {
	return &event.FailureData{
		Code: failure.AgentError.Code(), ErrorType: string(failure.AgentError),
		Message: orElse(d.Reason, orElse(d.Summary, "the agent reported an error")),
		Stage:   d.Stage, Node: d.Stage, Iteration: e.Cursor.Iteration, Attempt: e.Attempt,
	}
}

// attemptFailed retries transient failures within the node's attempts. An attempt that was stopped
// on request, or that fell with another call's process, uses up no try.
func attemptFailed(n *plan.Node, l state.Loop, now event.Place, e event.Event) (state.Loop, error) {
	d, err := event.Decode[event.FailureData](e)
	if err != nil {
		return l, err
	}
	return expect(l, e, state.PhaseAttempt, now.Key(event.KeyAttempt, l.Attempt), func(l *state.Loop) {
		switch {
		case d.ErrorType == string(failure.SignalInterrupt) || d.ErrorType == string(failure.Aborted):
			l.Phase, l.Attempt, l.IterationStartedAt = state.PhaseReady, 0, nil
		case d.Collateral && l.Spared < maxSpared:
			l.Phase, l.Attempt, l.Spared = state.PhaseReady, l.Attempt-1, l.Spared+1
		case d.Retryable && l.Attempt < attempts(n):
			l.Phase, l.Failure = state.PhaseBackoff, &d
		default:
			settleFailed(l, &d)
		}
	})
}

func settleFailed(l *state.Loop, d *event.FailureData) {
	l.Phase, l.Outcome, l.Reason, l.Failure = state.PhaseSettled, string(plan.OutcomeError), d.Message, d
	l.IterationStartedAt = nil
}

func settle(l *state.Loop, reason string) {
	l.Phase, l.Outcome, l.Reason, l.Failure = state.PhaseSettled, string(plan.OutcomeSuccess), reason, nil
}

func decided(n *plan.Node, skipDelays bool, l state.Loop, now event.Place, e event.Event) (state.Loop, error) {
	d, err := event.Decode[event.DecisionData](e)
	if err != nil {
		return l, err
	}
	return expect(l, e, state.PhaseDecide, now.Key(event.KeyDecide, l.Round+1), func(l *state.Loop) {
		if d.State != nil {
			l.Strategy = d.State
		}
		if d.Action == "ask" && l.Round < maxRounds && d.Question != nil {
			l.Phase, l.Question, l.Answer = state.PhaseQuestion, d.Question, nil
			return
		}
		l.Round, l.Question, l.Answer = 0, nil, nil
		l.Decisions = append(l.Decisions, state.Decision{Iteration: l.Completed, Hint: l.Hint, Action: d.Action, Reason: d.Reason})
		l.Decisions = l.Decisions[max(0, len(l.Decisions)-state.MaxDecisions):]
		afterDecision(n, skipDelays, l, d)
	})
}

func afterDecision(n *plan.Node, skipDelays bool, l *state.Loop, d event.DecisionData) {
	limit := n.Termination.Max()
	switch {
	case d.Action == "stop":
		settle(l, d.Reason)
	case d.Action == "continue" && limit > 0 && l.Completed >= limit:
		settle(l, "max_iterations")
	case d.Action == "continue" && (skipDelays || delay(n) <= 0):
		l.Phase = state.PhaseReady
	case d.Action == "continue":
		l.Phase = state.PhaseDelay
	case d.Failure != nil:
		settleFailed(l, d.Failure)
	default:
		settleFailed(l, &event.FailureData{
			Code: failure.StrategyFailed.Code(), ErrorType: string(failure.StrategyFailed), Node: n.ID, Stage: n.ID,
			Message: fmt.Sprintf("termination strategy %s: %s", d.Strategy, orElse(d.Reason, "it answered "+d.Action)),
		})
	}
}

func answered(l state.Loop, now event.Place, e event.Event) (state.Loop, error) {
	d, err := event.Decode[event.JudgeCompleteData](e)
	if err != nil {
		return l, err
	}
	return expect(l, e, state.PhaseAsking, now.Key(event.KeyQuestion, l.Round+1), func(l *state.Loop) {
		if d.Reason == string(failure.SignalInterrupt) || d.Reason == string(failure.Aborted) {
			l.Phase = state.PhaseQuestion
			return
		}
		l.Phase, l.Answer, l.Round = state.PhaseDecide, &d, l.Round+1
	})
}

// applyTimerFired lets the loop that waited go on.
func applyTimerFired(s *state.State, e event.Event) error {
	if _, armed := s.Timers[e.Key]; !armed {
		return misfit(e, "no such timer is armed")
	}
	delete(s.Timers, e.Key)
	_, at, _, _ := e.Key.Parse() // timer_set accepted only keys that parse
	n, ok := s.Nodes[at.Node]
	if ok && n.Visit == at.Visit && (n.Loop.Phase == state.PhaseDelay || n.Loop.Phase == state.PhaseBackoff) {
		n.Loop.Phase = state.PhaseReady
		s.Nodes[at.Node] = n
	}
	return nil
}

func applyTimerSet(s *state.State, e event.Event) error {
	d, err := event.Decode[event.TimerSetData](e)
	if err != nil {
		return err
	}
	if kind, _, _, ok := e.Key.Parse(); !ok || kind != event.KeyTimer {
		return misfit(e, fmt.Sprintf("its key %q is no timer's", e.Key))
	}
	if s.Timers == nil {
		s.Timers = map[event.Key]state.Timer{}
	}
	s.Timers[e.Key] = state.Timer{Purpose: d.Purpose, Due: e.Time.Add(d.After)}
	return nil
}

// recovered is the loop after the kernel that worked on it is gone.
func recovered(n *plan.Node, l state.Loop) state.Loop {
	switch l.Phase {
	case state.PhaseAsking:
		l.Phase = state.PhaseQuestion
	case state.PhaseAttempt:
		return cutOff(n, l)
	}
	return l
}

func cutOff(n *plan.Node, l state.Loop) state.Loop {
	recovery := plan.RecoveryRerun
	if n != nil && n.Policy != nil && n.Policy.Recovery != "" {
		recovery = n.Policy.Recovery
	}
	switch recovery {
	case plan.RecoveryAsk:
		l.Phase = state.PhaseCutOff
	case plan.RecoveryFail:
		settleFailed(&l, &event.FailureData{
			Code: failure.ProviderCrashed.Code(), ErrorType: string(failure.ProviderCrashed), Iteration: l.Iteration, Attempt: l.Attempt,
			Message: "the attempt was cut off by a crash and the node's recovery is fail",
		})
	default: // an attempt without an end starts over at attempt 1 (U069)
		l.Phase, l.Attempt, l.Failure, l.IterationStartedAt = state.PhaseReady, 0, nil, nil
	}
	return l
}

// resumed is the loop of the current node after a person said to go on: a failed loop tries again
// where it failed, with its retries renewed; an attempt cut off may be made again.
func resumed(l state.Loop) state.Loop {
	switch {
	case l.Phase == state.PhaseCutOff:
		l.Phase, l.Attempt, l.IterationStartedAt = state.PhaseReady, 0, nil
	case l.Phase == state.PhaseSettled && l.Outcome == string(plan.OutcomeError):
		l.Outcome, l.Reason, l.Failure, l.Attempt, l.Round = "", "", nil, 0, 0
		l.Phase = state.PhaseReady
		if l.Iteration > 0 && l.Completed == l.Iteration {
			l.Phase = state.PhaseDecide
		}
	}
	return l
}

// expect applies change if the loop is in the phase and waits for the key.
func expect(l state.Loop, e event.Event, phase state.Phase, key event.Key, change func(*state.Loop)) (state.Loop, error) {
	if l.Phase != phase || e.Key != key {
		return l, misfit(e, fmt.Sprintf("the loop is in phase %s and waits for %s", l.Phase, key))
	}
	change(&l)
	return l, nil
}

func addUsage(sum *event.Usage, u *event.Usage) {
	if u == nil {
		return
	}
	for _, f := range []struct {
		to   **int64
		from *int64
	}{
		{&sum.InputTokens, u.InputTokens}, {&sum.OutputTokens, u.OutputTokens},
		{&sum.CacheReadTokens, u.CacheReadTokens}, {&sum.CacheWriteTokens, u.CacheWriteTokens},
		{&sum.ReasoningTokens, u.ReasoningTokens},
	} {
		*f.to = plus(*f.to, f.from)
	}
	sum.CostUSD = plus(sum.CostUSD, u.CostUSD)
}

// plus adds known numbers; unknown and unknown stays unknown.
func plus[T int64 | float64](a, b *T) *T {
	if b == nil {
		return a
	}
	sum := *b
	if a != nil {
		sum += *a
	}
	return &sum
}

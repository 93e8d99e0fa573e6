package schedule

import (
	"cmp"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/kernel/state"
)

// defaultStepRetries is the number of retries of a step.
const defaultStepRetries = 3

// defaultStageRetries is the number of stage retries of a node.
const defaultStageRetries = 2

// firstBackoff is the pause in seconds before the first retry, doubled for each further attempt (U100).
const firstBackoff = 2.0

// maxBackoff is the longest doubled pause in seconds.
const maxBackoff = 30.0

// maxRetryAfter is the wait in seconds that a service may ask for. Beyond it the session fails and can be resumed
// later.
const maxRetryAfter = 6 * 3600

// maxUncharged is the number of attempts of one iteration that may fail with the process of another call.
const maxUncharged = 5

// maxRounds is the number of questions per decision (DESIGN 4).
const maxRounds = 4

// ladderBackoff are the pauses in seconds between the attempts of nodes with transitions or steps (K26).
var ladderBackoff = []float64{1, 2, 4}

// decideLoop returns the next commands of an iteration loop: attempt, decide, delay, repeat.
func decideLoop(p *plan.Plan, s state.State, n *plan.Node, loc event.Location, l state.Loop) []Command {
	switch l.Phase {
	case state.PhaseEnter:
		return decideCheck(s, n, plan.AtEnter, loc, l)
	case state.PhaseReady:
		if cmds, passed := beforeIteration(p, s, n, loc, l); !passed {
			return cmds
		}
		if cmds, affordable := checkBudget(p, s, n, loc, l); !affordable {
			return cmds
		}
		return startAttempt(n, NodeName(p, s, n), maxAttempts(p, s, n, loc), loc, l)
	case state.PhaseMeasure:
		return decideCheck(s, n, plan.AtExit, loc, l)
	case state.PhaseSettle:
		return []Command{{Kind: Settle, Key: l.SettleKey(loc), Location: loc, Attempt: l.Attempt}}
	case state.PhaseBackoff:
		return setTimer(s, loc, state.PurposeBackoff, l.Attempt+1, backoff(p, n, l)) // the number of the next attempt
	case state.PhaseDelay:
		return setTimer(s, loc, "delay", 1, n.IterationDelay())
	case state.PhaseDecide:
		if cmds, passed := afterIteration(p, s, n, loc, l); !passed {
			return cmds
		}
		return []Command{{Kind: Strategy, Key: loc.Key(event.KeyDecide, l.Round+1), Location: loc, Round: l.Round}}
	case state.PhaseQuestion:
		if cmds, affordable := checkBudget(p, s, n, loc, l); !affordable {
			return cmds
		}
		return putQuestion(loc, l)
	case state.PhaseCutOff:
		return askAboutCutOff(p, s, n, loc, l)
	default: // an effect is in flight
		return nil
	}
}

// startAttempt begins the next iteration, or the next attempt of the unfinished one. Under check_before an iteration
// begins without an attempt.
func startAttempt(n *plan.Node, name string, allowed int, loc event.Location, l state.Loop) []Command {
	loc.Iteration = l.Completed + 1
	attempt := l.Attempt + 1
	key := loc.Key(event.KeyAttempt, attempt)
	var e event.Event
	switch {
	case attempt > 1:
		e = event.New(event.Retry, loc.Cursor(), key, retryData(n, allowed, loc, l))
	case l.Check == state.CheckPassed:
		e = event.New(event.AttemptStart, loc.Cursor(), key, struct{}{})
	default:
		e = iterationStartEvent(n, name, loc, key)
	}
	e.Attempt = attempt
	if l.Check == state.CheckDue || passesSteps(n, loc) {
		return record(e)
	}
	return []Command{{Kind: Attempt, Key: key, Event: &e, Location: loc, Attempt: attempt}}
}

func iterationStartEvent(n *plan.Node, name string, loc event.Location, key event.Key) event.Event {
	d := event.IterationStartData{Stage: name, Type: n.Ref}
	if n.Provider != nil {
		d.Provider, d.Model = n.Provider.EventName(), n.Provider.Model
	}
	if loc.Branch != "" {
		d.Ref, d.StageIndex = n.Ref, stageIndex(loc)
	}
	return event.New(event.IterationStart, loc.Cursor(), key, d)
}

// stageIndex returns the position of the location's stage in its block.
func stageIndex(loc event.Location) *int {
	i, err := strconv.Atoi(strings.TrimPrefix(loc.Node, loc.Outer()+"."))
	if err != nil {
		return nil
	}
	return &i
}

// setTimer arms the loop's timer once.
func setTimer(s state.State, loc event.Location, purpose string, i int, after time.Duration) []Command {
	key := loc.Key(event.KeyTimer, i)
	if _, armed := s.Timers[key]; armed {
		return nil
	}
	return record(event.New(event.TimerSet, loc.Cursor(), key, event.TimerSetData{Purpose: purpose, After: after}))
}

func putQuestion(loc event.Location, l state.Loop) []Command {
	key := loc.Key(event.KeyQuestion, l.Round+1)
	e := event.New(event.StrategyQuestion, loc.Cursor(), key,
		event.StrategyQuestionData{Provider: l.Question.Provider, Model: l.Question.Model, Round: l.Round})
	return []Command{{Kind: Question, Key: key, Event: &e, Location: loc, Round: l.Round}}
}

// askAboutCutOff asks the user about an interrupted attempt: under recovery "ask", with a tool call that must not run
// twice, or with an unanswered question. Resuming the paused run also approves the repeat.
func askAboutCutOff(p *plan.Plan, s state.State, n *plan.Node, loc event.Location, l state.Loop) []Command {
	subject := n.ID
	if loc.Step != "" {
		subject = fmt.Sprintf("step %s of %s", loc.Step, n.ID)
	}
	text := fmt.Sprintf("iteration %d of %s was interrupted and may have had effects%s; resume repeats it, abort ends the run",
		loc.Iteration, subject, describeUncertain(l.Calls))
	remedy := ""
	if l.Failure != nil {
		text, remedy = l.Failure.Message+"; "+text, l.Failure.Remedy
	}
	return escalate(p, s, n, escalation{key: l.CutOffKey(loc), cursor: loc.Cursor(), text: text, remedy: remedy})
}

// backoff returns the pause before the next attempt: the service's retry-after if it is longer than the configured
// one.
func backoff(p *plan.Plan, n *plan.Node, l state.Loop) time.Duration {
	pause := min(firstBackoff*math.Pow(2, float64(l.Attempt-1)), maxBackoff)
	pauses := ladderBackoff
	if !p.HasRetryLadder(n) {
		pauses = nil
	}
	if r := p.EffectivePolicy(n).Retry; r != nil && len(r.Backoff) > 0 {
		pauses = r.Backoff
	}
	if len(pauses) > 0 {
		pause = pauses[min(l.Attempt, len(pauses))-1]
	}
	if l.Failure != nil {
		pause = max(pause, l.Failure.RetryAfter)
	}
	return plan.Seconds(pause)
}

// maxAttempts returns the number of attempts that an iteration has in all: for a step one more than its retries.
func maxAttempts(p *plan.Plan, s state.State, n *plan.Node, loc event.Location) int {
	var r plan.Retry
	if retry := p.EffectivePolicy(n).Retry; retry != nil {
		r = *retry
	}
	if loc.Step == "" || n.Steps == nil {
		return cmp.Or(r.Attempts, plan.DefaultAttempts)
	}
	ns := s.Nodes[loc.Outer()]
	retries := cmp.Or(r.Step, defaultStepRetries)
	if by, isSet := n.Steps.RetryBy[ns.Steps[loc.Step].Action]; isSet {
		retries = by
	}
	if ns.StageAttempt > 0 && r.OnStageRetry == "single" {
		retries = 0
	}
	return 1 + retries
}

// retryData describes the next attempt: one for an invalid artifact, or an ordinary retry.
func retryData(n *plan.Node, allowed int, loc event.Location, l state.Loop) event.RetryData {
	if l.IsArtifactRetry() {
		return event.RetryData{Rung: event.RungArtifact, N: l.ArtifactRetries, Max: n.Artifact.MaxRetries()}
	}
	rung := event.RungAttempt
	if loc.Step != "" {
		rung = event.RungStep
	}
	return event.RetryData{Rung: rung, N: l.Attempt + 1 - l.ArtifactRetries, Max: allowed}
}

package schedule

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/kernel/progress"
	"github.com/dodo-digital/agent-pipelines/kernel/state"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
)

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
		return startAttempt(n, progress.NodeName(p, s, n), progress.MaxAttempts(p, s, n, loc), loc, l)
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
		return askAboutInterrupted(p, s, n, loc, l)
	default: // an effect is in flight
		return nil
	}
}

// startAttempt begins the next iteration, or the next attempt of the unfinished iteration. Under check_before an
// iteration begins without an attempt.
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
	if l.Check == state.CheckDue || progress.PassesSteps(n, loc) {
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

// askAboutInterrupted asks the user about an interrupted attempt: under recovery "ask", with a tool call that must not
// run twice, or with an unanswered question. Resuming the paused run also approves the repeat.
func askAboutInterrupted(p *plan.Plan, s state.State, n *plan.Node, loc event.Location, l state.Loop) []Command {
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

// backoff returns the pause before the next attempt: the configured or default pause, or the service's retry-after if
// that is longer.
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

// retryData describes the next attempt: an artifact retry, or an ordinary retry.
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

// decideCheck returns the command for the next check at the moment, nil if all have run. The entry checks of a node
// run before its first iteration and again in every stage retry.
func decideCheck(s state.State, n *plan.Node, moment string, loc event.Location, l state.Loop) []Command {
	if moment == plan.AtEnter {
		loc.Iteration = 0
	}
	c, number := progress.NextCheck(n, moment, l)
	if number == 0 {
		return nil
	}
	return []Command{{Kind: Check, Key: s.CheckKey(loc, number), Location: loc, Check: c.ID}}
}

// checkBudget reports whether a call at the location is affordable. If not, the loop waits for other calls to end, or
// the commands end it as over its budget.
func checkBudget(p *plan.Plan, s state.State, n *plan.Node, loc event.Location, l state.Loop) (cmds []Command, affordable bool) {
	if progress.PassesSteps(n, loc) || l.Check == state.CheckDue {
		return nil, true
	}
	_, shortfall := progress.Reserve(p, s, loc.Node)
	switch {
	case shortfall == nil:
		return nil, true
	case shortfall.CanWait:
		return nil, false
	}
	key := loc.Key(event.KeyQuestion, l.Round+1)
	if l.Phase == state.PhaseReady {
		loc.Iteration = l.Completed + 1
		key = loc.Key(event.KeyAttempt, l.Attempt+1)
	}
	d := event.FailureData{
		Code: failure.BudgetExceeded.Code(), ErrorType: string(failure.BudgetExceeded), Node: n.ID, Stage: n.ID, Step: loc.Step,
		Iteration: loc.Iteration, Message: shortfall.Text,
		Remedy: "resume allows the same amount again; policy.cost sets the limit, and a session keeps its plan",
	}
	return record(event.New(event.Error, loc.Cursor(), key, d)), false
}

// beforeIteration returns the commands for the hooks before a new iteration; a retry has none.
func beforeIteration(p *plan.Plan, s state.State, n *plan.Node, loc event.Location, l state.Loop) (cmds []Command, passed bool) {
	if l.Attempt > 0 {
		return nil, true
	}
	loc.Iteration = l.Completed + 1
	return newHookPoint(plan.PointIterationStart, n, loc, l.HookCursor).dueCommands(p, s)
}

// afterIteration returns the commands for the hooks after an iteration, before the strategy is asked about it.
func afterIteration(p *plan.Plan, s state.State, n *plan.Node, loc event.Location, l state.Loop) (cmds []Command, passed bool) {
	if l.Completed == 0 || l.Round > 0 || l.Check == state.CheckDue {
		return nil, true
	}
	loc.Iteration = l.Completed
	return newHookPoint(plan.PointIterationEnd, n, loc, l.HookCursor).dueCommands(p, s)
}

// ladderBackoff are the pauses in seconds between the attempts of nodes with transitions or steps (K26).
var ladderBackoff = []float64{1, 2, 4}

// firstBackoff is the pause in seconds before the first retry, doubled for each further attempt (U100).
const firstBackoff = 2.0

// maxBackoff is the longest doubled pause in seconds.
const maxBackoff = 30.0

// describeUncertain lists the calls that may have run, for a question to the user. It returns "" if there are none.
func describeUncertain(calls []state.Call) string {
	var names []string
	for _, c := range calls {
		if c.IsUncertain() {
			names = append(names, strings.TrimSpace(c.Call.Tool+" "+c.Call.Command))
		}
	}
	if len(names) == 0 {
		return ""
	}
	return event.Truncate(": it is unknown whether these calls ran: "+strings.Join(names, ", "), maxUncertainText)
}

// maxUncertainText is the maximum number of bytes of [describeUncertain].
const maxUncertainText = 300

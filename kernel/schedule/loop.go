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

// stageLoop is the iteration loop of a stage at its location.
type stageLoop struct {
	plan  *plan.Plan
	state state.State
	node  *plan.Node
	loc   event.Location // of the loop's current iteration
	loop  state.Loop
}

// decide returns the next commands of the loop: attempt, decide, delay, repeat.
func (l stageLoop) decide() []Command {
	switch l.loop.Phase {
	case state.PhaseEnter:
		return l.decideCheck(plan.AtEnter)
	case state.PhaseReady:
		if cmds, passed := l.beforeIteration(); !passed {
			return cmds
		}
		if cmds, affordable := l.checkBudget(); !affordable {
			return cmds
		}
		return l.startAttempt()
	case state.PhaseMeasure:
		return l.decideCheck(plan.AtExit)
	case state.PhaseSettle:
		return []Command{{Kind: Settle, Key: l.loop.SettleKey(l.loc), Location: l.loc, Attempt: l.loop.Attempt}}
	case state.PhaseBackoff:
		return l.setTimer(state.PurposeBackoff, l.loop.Attempt+1, l.backoff()) // the number of the next attempt
	case state.PhaseDelay:
		return l.setTimer("delay", 1, l.node.IterationDelay())
	case state.PhaseDecide:
		if cmds, passed := l.afterIteration(); !passed {
			return cmds
		}
		return []Command{{Kind: Strategy, Key: l.loc.Key(event.KeyDecide, l.loop.Round+1), Location: l.loc, Round: l.loop.Round}}
	case state.PhaseQuestion:
		if cmds, affordable := l.checkBudget(); !affordable {
			return cmds
		}
		return l.putQuestion()
	case state.PhaseCutOff:
		return l.askAboutInterrupted()
	default: // an effect is in flight
		return nil
	}
}

// startAttempt begins the next iteration, or the next attempt of the unfinished iteration. Under check_before an
// iteration begins without an attempt.
func (l stageLoop) startAttempt() []Command {
	l.loc.Iteration = l.loop.Completed + 1
	attempt, cursor := l.loop.Attempt+1, l.loc.Cursor()
	key := l.loc.Key(event.KeyAttempt, attempt)
	var e event.Event
	switch {
	case attempt > 1:
		e = event.New(event.Retry, cursor, key, l.retryData())
	case l.loop.Check == state.CheckPassed:
		e = event.New(event.AttemptStart, cursor, key, struct{}{})
	default:
		e = event.New(event.IterationStart, cursor, key, l.iterationStartData())
	}
	e.Attempt = attempt
	if l.loop.Check == state.CheckDue || progress.PassesSteps(l.node, l.loc) {
		return record(e)
	}
	return []Command{{Kind: Attempt, Key: key, Event: &e, Location: l.loc, Attempt: attempt}}
}

func (l stageLoop) iterationStartData() event.IterationStartData {
	n := l.node
	d := event.IterationStartData{Stage: progress.NodeName(l.plan, l.state, n), Type: n.Ref}
	if n.Provider != nil {
		d.Provider, d.Model = n.Provider.EventName(), n.Provider.Model
	}
	if l.loc.Branch != "" {
		d.Ref, d.StageIndex = n.Ref, stageIndex(l.loc)
	}
	return d
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
func (l stageLoop) setTimer(purpose string, i int, after time.Duration) []Command {
	key := l.loc.Key(event.KeyTimer, i)
	if _, armed := l.state.Timers[key]; armed {
		return nil
	}
	return record(event.New(event.TimerSet, l.loc.Cursor(), key, event.TimerSetData{Purpose: purpose, After: after}))
}

func (l stageLoop) putQuestion() []Command {
	q, round := l.loop.Question, l.loop.Round
	key := l.loc.Key(event.KeyQuestion, round+1)
	e := event.New(event.StrategyQuestion, l.loc.Cursor(), key, event.StrategyQuestionData{Provider: q.Provider, Model: q.Model, Round: round})
	return []Command{{Kind: Question, Key: key, Event: &e, Location: l.loc, Round: round}}
}

// askAboutInterrupted asks the user about an interrupted attempt: under recovery "ask", with a tool call that must not
// run twice, or with an unanswered question. Resuming the paused run also approves the repeat.
func (l stageLoop) askAboutInterrupted() []Command {
	subject := l.node.ID
	if l.loc.Step != "" {
		subject = fmt.Sprintf("step %s of %s", l.loc.Step, subject)
	}
	text := fmt.Sprintf("iteration %d of %s was interrupted and may have had effects%s; resume repeats it, abort ends the run",
		l.loc.Iteration, subject, describeUncertain(l.loop.Calls))
	remedy := ""
	if f := l.loop.Failure; f != nil {
		text, remedy = f.Message+"; "+text, f.Remedy
	}
	return escalate(l.plan, l.state, l.node, escalation{key: l.loop.CutOffKey(l.loc), cursor: l.loc.Cursor(), text: text, remedy: remedy})
}

// backoff returns the pause before the next attempt: the configured or default pause, or the service's retry-after if
// that is longer.
func (l stageLoop) backoff() time.Duration {
	pause := min(firstBackoff*math.Pow(2, float64(l.loop.Attempt-1)), maxBackoff)
	pauses := ladderBackoff
	if !l.plan.HasRetryLadder(l.node) {
		pauses = nil
	}
	if r := l.plan.EffectivePolicy(l.node).Retry; r != nil && len(r.Backoff) > 0 {
		pauses = r.Backoff
	}
	if len(pauses) > 0 {
		pause = pauses[min(l.loop.Attempt, len(pauses))-1]
	}
	if f := l.loop.Failure; f != nil {
		pause = max(pause, f.RetryAfter)
	}
	return plan.Seconds(pause)
}

// retryData describes the next attempt: an artifact retry, or an ordinary retry.
func (l stageLoop) retryData() event.RetryData {
	if l.loop.IsArtifactRetry() {
		return event.RetryData{Rung: event.RungArtifact, N: l.loop.ArtifactRetries, Max: l.node.Artifact.MaxRetries()}
	}
	rung := event.RungAttempt
	if l.loc.Step != "" {
		rung = event.RungStep
	}
	return event.RetryData{Rung: rung, N: l.loop.Attempt + 1 - l.loop.ArtifactRetries, Max: progress.MaxAttempts(l.plan, l.state, l.node, l.loc)}
}

// decideCheck returns the command for the next check at the moment, nil if all have run. The entry checks of a node
// run before its first iteration and again in every stage retry.
func (l stageLoop) decideCheck(moment string) []Command {
	if moment == plan.AtEnter {
		l.loc.Iteration = 0
	}
	c, number := progress.NextCheck(l.node, moment, l.loop)
	if number == 0 {
		return nil
	}
	return []Command{{Kind: Check, Key: l.state.CheckKey(l.loc, number), Location: l.loc, Check: c.ID}}
}

// checkBudget reports whether the loop's next call is affordable. If not, the loop waits for other calls to end, or
// the commands end it as over its budget.
func (l stageLoop) checkBudget() (cmds []Command, affordable bool) {
	n, loc := l.node, l.loc
	if progress.PassesSteps(n, loc) || l.loop.Check == state.CheckDue {
		return nil, true
	}
	_, shortfall := progress.Reserve(l.plan, l.state, loc.Node)
	switch {
	case shortfall == nil:
		return nil, true
	case shortfall.CanWait:
		return nil, false
	}
	key := loc.Key(event.KeyQuestion, l.loop.Round+1)
	if l.loop.Phase == state.PhaseReady {
		loc.Iteration = l.loop.Completed + 1
		key = loc.Key(event.KeyAttempt, l.loop.Attempt+1)
	}
	d := event.FailureData{
		Code: failure.BudgetExceeded.Code(), ErrorType: string(failure.BudgetExceeded), Node: n.ID, Stage: n.ID, Step: loc.Step,
		Iteration: loc.Iteration, Message: shortfall.Text,
		Remedy: "resume allows the same amount again; policy.cost sets the limit, and a session keeps its plan",
	}
	return record(event.New(event.Error, loc.Cursor(), key, d)), false
}

// beforeIteration returns the commands for the hooks before a new iteration; a retry has none.
func (l stageLoop) beforeIteration() (cmds []Command, passed bool) {
	if l.loop.Attempt > 0 {
		return nil, true
	}
	l.loc.Iteration = l.loop.Completed + 1
	return newHookPoint(plan.PointIterationStart, l.node, l.loc, l.loop.HookCursor).dueCommands(l.plan, l.state)
}

// afterIteration returns the commands for the hooks after an iteration, before the strategy is asked about it.
func (l stageLoop) afterIteration() (cmds []Command, passed bool) {
	if l.loop.Completed == 0 || l.loop.Round > 0 || l.loop.Check == state.CheckDue {
		return nil, true
	}
	l.loc.Iteration = l.loop.Completed
	return newHookPoint(plan.PointIterationEnd, l.node, l.loc, l.loop.HookCursor).dueCommands(l.plan, l.state)
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

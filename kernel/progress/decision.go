package progress

import (
	"cmp"
	"fmt"

	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/state"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
)

func (e loopEvent) applyDecision(d event.DecisionData) error {
	return e.expect(state.PhaseDecide, e.current.Key(event.KeyDecide, e.loop.Round+1), func(l *state.Loop) {
		if e.state.Stop != nil && d.Failure != nil && causedByStop(d.Failure) {
			return // the call was interrupted; the strategy is asked again after the resume
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
		e.applyAction(d)
	})
}

func (e loopEvent) applyAction(d event.DecisionData) {
	n, l, limit := e.node, e.loop, e.node.Termination.Max()
	switch {
	case d.Action == "stop":
		l.Finish(d.Reason)
	case d.Action == "continue" && limit > 0 && l.CountedIterations() >= limit:
		l.Finish("max_iterations")
	case d.Action == "continue" && l.Check == state.CheckDue:
		l.Phase, l.Check = state.PhaseReady, state.CheckPassed
	case d.Action == "continue" && (e.state.SkipDelays || n.IterationDelay() <= 0):
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

func (e loopEvent) applyStrategyAnswer(d event.StrategyAnswerData) error {
	return e.expect(state.PhaseAsking, e.current.Key(event.KeyQuestion, e.loop.Round+1), func(l *state.Loop) {
		if e.state.Stop != nil && causedByStop(&event.FailureData{ErrorType: d.Error, System: d.System}) {
			l.Phase = state.PhaseQuestion
			return
		}
		l.Phase, l.Answer, l.Round = state.PhaseDecide, &d, l.Round+1
	})
}

// maxRounds is the maximum number of questions per decision.
const maxRounds = 4

package schedule

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/kernel/state"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
)

// What a node's contract adds to an iteration: checks before the agent works, and after its attempt checks and the
// settling of artifact and outcome.

// checkRounds sets the keys of checks apart that are made again in a stage retry, before an iteration has begun.
const checkRounds = 1000

// measure is the command for the next check at the moment, nil when all are made. Those at the entry of a node are made
// before its first iteration, and anew in every stage retry.
func decideCheck(s state.State, n *plan.Node, moment string, loc event.Location, l state.Loop) []Command {
	if moment == plan.AtEnter {
		loc.Iteration = 0
	}
	c, number := nextCheck(n, moment, l)
	if number == 0 {
		return nil
	}
	return []Command{{Kind: Check, Key: checkKey(s, loc, number), Location: loc, Check: c.ID}}
}

// nextCheck is the first check at the moment that has not been made, with its number among them from 1; 0: none is left.
func nextCheck(n *plan.Node, moment string, l state.Loop) (plan.Check, int) {
	for i, c := range n.ChecksAt(moment) {
		if !slices.ContainsFunc(l.Measured, func(m state.Measurement) bool { return m.ID == c.ID && m.At == moment }) {
			return c, i + 1
		}
	}
	return plan.Check{}, 0
}

func checkKey(s state.State, loc event.Location, number int) event.Key {
	if loc.Iteration == 0 {
		number += checkRounds * s.Nodes[loc.Outer()].StageAttempt
	}
	return loc.Key(event.KeyCheck, number)
}

// settleKey is that of the settling of the newest attempt.
func settleKey(loc event.Location, l state.Loop) event.Key {
	return loc.Key(event.KeySettle, max(l.Attempt, 1))
}

// ---- Apply

// attempted ends an attempt whose outcome is still to be settled.
func applyAttemptComplete(n *plan.Node, l state.Loop, now event.Location, e event.Event) (state.Loop, error) {
	d, err := event.Decode[event.AttemptCompleteData](e)
	if err != nil {
		return l, err
	}
	return expect(l, e, state.PhaseAttempt, now.Key(event.KeyAttempt, l.Attempt), func(l *state.Loop) {
		l.Attempted, l.Failure, l.Checkpoint, l.Calls = &d, nil, nil, nil
		startChecks(n, l)
	})
}

// toMeasure begins the checks of an iteration, or the settling where there are none.
func startChecks(n *plan.Node, l *state.Loop) {
	l.Measured = slices.DeleteFunc(l.Measured, func(m state.Measurement) bool { return m.At != plan.AtEnter })
	l.Phase = state.PhaseMeasure
	if len(n.ChecksAt(plan.AtExit)) == 0 {
		l.Phase = state.PhaseSettle
	}
}

// measured keeps what a check said. When the last one at the entry is made, a bad one ends the node before any work.
func applyCheckResult(s state.State, n *plan.Node, l state.Loop, now event.Location, e event.Event) (state.Loop, error) {
	d, err := event.Decode[event.CheckResultData](e)
	if err != nil {
		return l, err
	}
	moment, phase := plan.AtExit, state.PhaseMeasure
	if l.Phase == state.PhaseEnter {
		moment, phase = plan.AtEnter, state.PhaseEnter
		now.Iteration = 0
	}
	c, number := nextCheck(n, moment, l)
	if number == 0 || c.ID != d.ID {
		return l, invalidTransition(e, fmt.Sprintf("the loop does not wait for check %q", d.ID))
	}
	return expect(l, e, phase, checkKey(s, now, number), func(l *state.Loop) {
		if s.Stop != nil && d.Failure != nil && causedByStop(d.Failure) {
			return // it was cut off, and is made again when the run goes on
		}
		l.Measured = append(l.Measured, state.Measurement{
			ID: d.ID, At: moment, Passed: d.Passed && d.Failure == nil, LeftOut: d.LeftOut, Reason: d.Reason, Facts: d.Facts, Failure: d.Failure,
		})
		if _, left := nextCheck(n, moment, *l); left > 0 {
			return
		}
		if moment == plan.AtExit {
			l.Phase = state.PhaseSettle
			return
		}
		l.Phase = state.PhaseReady
		settleFailedEntry(l)
	})
}

// refuseEntry settles a loop whose checks at the entry did not all pass.
func settleFailedEntry(l *state.Loop) {
	i := slices.IndexFunc(l.Measured, func(m state.Measurement) bool { return !m.Passed })
	if i < 0 {
		return
	}
	bad := l.Measured[i]
	if f := bad.Failure; f != nil && f.ErrorType != string(failure.HookTimeout) {
		settleFailed(l, f)
		return
	}
	l.Verdict, l.Message = string(plan.OutcomeFail), "check "+bad.ID+": "+cmp.Or(bad.Reason, "it did not pass")
	settleLoop(l, l.Message)
}

// settled takes over what an iteration came to.
func recordSettlement(l *state.Loop, d event.Settlement) {
	l.Verdict, l.Message, l.Feedback, l.FailedSteps = d.Outcome, d.Message, d.Feedback, d.FailedSteps
	l.Attempted, l.Made = nil, cmp.Or(d.Artifact, d.Partial)
}

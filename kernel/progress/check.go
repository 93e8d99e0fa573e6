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

// applyCheckResult stores the result of a check. If an entry check failed, the result of the last entry check ends
// the node before any work.
func (e loopEvent) applyCheckResult(d event.CheckResultData) error {
	s, n, current := e.state, e.node, e.current
	moment, phase := plan.AtExit, state.PhaseMeasure
	if e.loop.Phase == state.PhaseEnter {
		moment, phase = plan.AtEnter, state.PhaseEnter
		current.Iteration = 0
	}
	c, number := NextCheck(n, moment, *e.loop)
	if number == 0 || c.ID != d.ID {
		return invalidTransition(e.Event, fmt.Sprintf("the loop does not wait for check %q", d.ID))
	}
	return e.expect(phase, s.CheckKey(current, number), func(l *state.Loop) {
		if s.Stop != nil && d.Failure != nil && causedByStop(d.Failure) {
			return // the check was interrupted and runs again after the resume
		}
		l.Measured = append(l.Measured, state.Measurement{
			ID: d.ID, At: moment, Passed: d.Passed && d.Failure == nil, Skipped: d.Skipped, Reason: d.Reason, Facts: d.Facts, Failure: d.Failure,
		})
		if _, left := NextCheck(n, moment, *l); left > 0 {
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

// settleFailedEntry settles a loop whose entry checks did not all pass.
func settleFailedEntry(l *state.Loop) {
	i := slices.IndexFunc(l.Measured, func(m state.Measurement) bool { return !m.Passed })
	if i < 0 {
		return
	}
	bad := l.Measured[i]
	if f := bad.Failure; f != nil && f.ErrorType != string(failure.HookTimeout) {
		l.Fail(f)
		return
	}
	l.Verdict, l.Message = string(plan.OutcomeFail), "check "+bad.ID+": "+cmp.Or(bad.Reason, "it did not pass")
	l.Finish(l.Message)
}

// NextCheck returns the first check at the moment that has not run, with its number from 1; 0 if none is left.
func NextCheck(n *plan.Node, moment string, l state.Loop) (plan.Check, int) {
	for i, c := range n.ChecksAt(moment) {
		if !slices.ContainsFunc(l.Measured, func(m state.Measurement) bool { return m.ID == c.ID && m.At == moment }) {
			return c, i + 1
		}
	}
	return plan.Check{}, 0
}

// startChecks begins the checks of an iteration, or its settlement if there are no checks.
func startChecks(n *plan.Node, l *state.Loop) {
	l.Measured = slices.DeleteFunc(l.Measured, func(m state.Measurement) bool { return m.At != plan.AtEnter })
	l.Phase = state.PhaseMeasure
	if len(n.ChecksAt(plan.AtExit)) == 0 {
		l.Phase = state.PhaseSettle
	}
}

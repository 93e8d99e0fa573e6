package schedule

import (
	"slices"

	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/kernel/progress"
	"github.com/dodo-digital/agent-pipelines/kernel/state"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
)

// armGuardrails sets the first missing timer of a guardrail.
func armGuardrails(p *plan.Plan, s state.State) []Command {
	for _, g := range progress.ActiveGuardrails(p, s) {
		if _, armed := s.Timers[g.Key()]; armed {
			continue
		}
		var c *event.Cursor
		if !g.BoundsRun() {
			c = g.Loc.Cursor()
		}
		return record(event.New(event.TimerSet, c, g.Key(), event.TimerSetData{Purpose: state.PurposeGuardrail, After: g.Limit.Limit()}))
	}
	return nil
}

// enforceGuardrails adds the commands that cancel work beyond a guardrail. The state does not show whether a strategy
// is working, so the strategy's decision is recorded as an error, too.
func enforceGuardrails(p *plan.Plan, s state.State, due []Command) []Command {
	if !s.Guarded() {
		return due
	}
	var cmds []Command
	for _, ref := range s.Nodes[s.At].ActiveLoops(s.At) {
		g, reached := progress.ReachedGuardrail(p, s, ref.Location)
		if !reached {
			continue
		}
		d := g.Failure(p, s, ref.Location)
		if ref.Loop.HookCursor.Firing > 0 {
			continue
		}
		if key, busy := ref.PendingEffect(); busy {
			cmds = append(cmds, Command{Kind: Cancel, Key: key, Location: ref.Location, Cause: d})
		}
		cmds = append(cmds, cancelChecks(due, ref, d)...)
		if ref.Loop.Phase != state.PhaseDecide {
			continue
		}
		key := ref.Location.Key(event.KeyDecide, ref.Loop.Round+1)
		due = slices.DeleteFunc(due, func(c Command) bool { return c.Key == key })
		cmds = append(cmds, Command{Kind: Cancel, Key: key, Location: ref.Location, Cause: d})
		cmds = append(cmds, record(event.New(event.Decision, ref.Location.Cursor(), key, event.DecisionData{Action: "error", Reason: d.Message, Failure: d}))...)
	}
	return append(cmds, due...)
}

// cancelChecks returns cancel commands for the checks of the loop among the due commands.
func cancelChecks(due []Command, ref state.LoopRef, cause *event.FailureData) []Command {
	if ref.Loop.Phase != state.PhaseEnter && ref.Loop.Phase != state.PhaseMeasure {
		return nil
	}
	var cmds []Command
	for _, c := range due {
		if c.Kind == Check && c.Location.Node == ref.Location.Node && c.Location.Branch == ref.Location.Branch {
			cmds = append(cmds, Command{Kind: Cancel, Key: c.Key, Location: ref.Location, Cause: cause})
		}
	}
	return cmds
}

// GuardrailError is the cancellation cause of work beyond a guardrail. It unwraps to a [failure.Error].
type GuardrailError struct{ Failure *event.FailureData }

// Error returns the failure's message.
func (o *GuardrailError) Error() string { return o.Failure.Message }

// Unwrap returns the failure as a [failure.Error].
func (o *GuardrailError) Unwrap() error {
	return failure.New(failure.Kind(o.Failure.ErrorType), "%s", o.Failure.Message).WithHint("%s", o.Failure.Remedy)
}

// GuardrailFailure returns the failure of a guardrail whose timer has the key and has fired, nil for any other key.
func GuardrailFailure(p *plan.Plan, s state.State, key event.Key) *event.FailureData {
	for _, g := range progress.ActiveGuardrails(p, s) {
		if g.Key() == key && s.Timers[key].Reached != nil {
			return g.Failure(p, s, g.Loc)
		}
	}
	return nil
}

// RunGuardrailFailure returns the failure of the guardrail that must be renewed before a stopped run can continue, nil
// if there is none.
func RunGuardrailFailure(p *plan.Plan, s state.State) *event.FailureData {
	if s.Status == state.Running {
		return nil
	}
	return GuardrailFailure(p, s, progress.Guardrail{Number: 1}.Key())
}

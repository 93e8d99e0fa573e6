package progress

import (
	"fmt"
	"maps"
	"time"

	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/kernel/state"
)

// applyTimerFired continues the loop that waited for the timer, marks a guardrail as reached, or expires an
// escalation.
func applyTimerFired(_ *plan.Plan, s *state.State, e event.Event) error {
	if _, armed := s.Timers[e.Key]; !armed {
		return invalidTransition(e, "no such timer is armed")
	}
	if s.Timers[e.Key].Purpose == state.PurposeGuardrail {
		return applyGuardrailReached(s, e)
	}
	if s.Timers[e.Key].Purpose == state.PurposeEscalation {
		s.ExpireEscalation(e.Key)
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

func applyTimerSet(_ *plan.Plan, s *state.State, e event.Event, d event.TimerSetData) error {
	if kind, _, _, ok := e.Key.Parse(); !ok || kind != event.KeyTimer {
		return invalidTransition(e, fmt.Sprintf("key %q is not that of a timer", e.Key))
	}
	put(&s.Timers, e.Key, state.Timer{Purpose: d.Purpose, Due: e.Time.Add(d.After)})
	return nil
}

// applyGuardrailReached marks a guardrail's timer as fired.
func applyGuardrailReached(s *state.State, e event.Event) error {
	t := s.Timers[e.Key]
	if t.Reached != nil {
		return invalidTransition(e, "that guardrail has been reached already")
	}
	now := e.Time
	t.Reached = &now
	s.Timers[e.Key] = t
	return nil
}

// updateGuardrails updates the guardrails after an event. Their timers stop while no work runs and end with the
// guarded work. A fired timer fails the work that has nothing in flight.
func updateGuardrails(p *plan.Plan, before state.State, s *state.State, e event.Event) error {
	if err := shiftTimers(before.Status, s, e); err != nil {
		return err
	}
	holding := map[event.Key]bool{}
	if !s.Status.Final() {
		for _, g := range ActiveGuardrails(p, *s) {
			holding[g.Key()] = true
		}
	}
	maps.DeleteFunc(s.Timers, func(key event.Key, t state.Timer) bool { return t.Purpose == state.PurposeGuardrail && !holding[key] })
	if before.Status == state.Running || s.Status == state.Running {
		s.AliveAt = e.Time
	}
	if !s.Guarded() {
		s.AliveAt = time.Time{}
		return nil
	}
	n, ok := s.Nodes[s.At]
	if !ok || n.Status != state.NodeRunning || n.HookCursor.Firing > 0 {
		return nil
	}
	n.UpdateLoops(s.At, func(loc event.Location, l *state.Loop) {
		if l.HookCursor.Firing > 0 || n.Branches[loc.Branch].HookCursor.Firing > 0 {
			return
		}
		old := before.LoopAt(loc)
		if g, reached := ReachedGuardrail(p, *s, loc); reached {
			settleOverrun(g.Failure(p, *s, loc), e, old, l)
		}
		if l.Phase == state.PhaseSettled && old.Phase != state.PhaseSettled {
			s.DropQuestions(func(q state.Question) bool { return q.FromLoopHook(loc) })
		}
	})
	s.Nodes[s.At] = n
	return nil
}

// shiftTimers postpones the timers of guardrails by the idle time that ends with the event. Resuming a stopped run
// renews the guardrails that were reached, but the guardrail of the run itself only on request.
func shiftTimers(before state.Status, s *state.State, e event.Event) error {
	rested := before != state.Running && s.Status == state.Running
	if crashed := e.Type == event.KernelStart && before == state.Running; !rested && !crashed {
		return nil
	}
	d, err := event.Decode[event.SessionResumedData](e)
	if err != nil {
		return err
	}
	for key, t := range s.Timers {
		switch {
		case t.Purpose != state.PurposeGuardrail:
		case t.Reached == nil:
			t.Due = t.Due.Add(max(0, e.Time.Sub(s.AliveAt)))
			s.Timers[key] = t
		case rested && (d.Renew || key != Guardrail{Number: 1}.Key()):
			delete(s.Timers, key)
		}
	}
	return nil
}

// settleOverrun settles a loop beyond a guardrail, with the failure d, once it has no effect in flight and no open
// question. An attempt or a decision that fails after the guardrail was reached was cancelled for it.
func settleOverrun(d *event.FailureData, e event.Event, old state.Loop, l *state.Loop) {
	attempt := e.Type == event.Error && old.Phase == state.PhaseAttempt
	switch l.Phase {
	case state.PhaseEnter, state.PhaseAttempt, state.PhaseSteps, state.PhaseMeasure, state.PhaseSettle, state.PhaseAsking, state.PhaseDecide, state.PhaseCutOff:
		return
	case state.PhaseSettled:
		if decision := e.Type == event.Decision && old.Phase == state.PhaseDecide && l.Failure != nil; !attempt && !decision {
			return
		}
	}
	if attempt { // the attempt's own event has reported its failure
		d.Attempt = old.Attempt
	}
	l.Fail(d)
	l.Round, l.Question, l.Answer = 0, nil, nil
	l.Outcome = string(plan.OutcomeTimeout)
}

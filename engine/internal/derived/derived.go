package derived

import (
	"maps"
	"slices"

	"github.com/dodo-digital/agent-pipelines/engine/timeline"
	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/kernel/schedule"
	"github.com/dodo-digital/agent-pipelines/kernel/state"
)

// Fold derives the events of one session. It is not safe for concurrent use.
type Fold struct {
	timeline      *timeline.Timeline // the caller applies an event to it first
	phases        phases
	expiredTimers []event.Event // expired guardrail timers, not reported yet
}

// New returns the fold of a session. t is the session's timeline with all events so far.
func New(t *timeline.Timeline) *Fold { return &Fold{timeline: t, phases: phases{}} }

// Apply returns the informational events that follow from an applied event; st is the state after it.
func (f *Fold) Apply(p *plan.Plan, e event.Event, st state.State) []event.Event {
	var all []event.Event
	for _, warning := range budgetWarnings(p, e, st) {
		all = append(all, event.New(event.BudgetWarning, e.Cursor, "", warning))
	}
	all = append(all, artifactEvents(p, e, st)...)
	for _, start := range f.phases.advance(p, e) {
		all = append(all, event.New(event.Phase, start.cursor, "", event.PhaseData{Node: start.node, Name: start.name}))
	}
	switch e.Type {
	case event.NodeComplete:
		all = append(all, f.transition(p, e, st)...)
	case event.TimerFired, event.HookComplete, event.HookTimeout:
		all = append(all, f.timeouts(p, e, st)...)
	}
	return all
}

// timeouts returns the events of expired guardrails: at once, or after the hook that the guardrails triggered
// (REQUIREMENTS U249).
func (f *Fold) timeouts(p *plan.Plan, e event.Event, st state.State) []event.Event {
	if e.Type == event.TimerFired {
		f.expiredTimers = append(f.expiredTimers, e)
	}
	if st.IsHookRunning() {
		return nil
	}
	var all []event.Event
	for _, fired := range f.expiredTimers {
		if d := schedule.GuardrailFailure(p, st, fired.Key); d != nil {
			all = append(all, event.New(event.StageTimeout, fired.Cursor, "", d))
		}
	}
	f.expiredTimers = nil
	return all
}

// transition returns the events that follow from a transition. The state does not depend on these events.
func (f *Fold) transition(p *plan.Plan, e event.Event, st state.State) []event.Event {
	d, err := event.Decode[event.NodeCompleteData](e)
	if err != nil {
		return nil
	}
	var all []event.Event
	if why := d.Failure; why != nil && why.Attempt == 0 { // failed attempts have their own event
		failed := event.New(event.Error, e.Cursor, "", why)
		failed.Volatile = true
		all = append(all, failed)
	}
	to := d.To
	if n := p.Find(to); n != nil {
		to = n.ID
	}
	all = append(all, event.New(event.StageTransition, e.Cursor, "", f.transitionData(e, d, to)))
	if d.Edge != "" {
		all = append(all, event.New(event.CycleStart, e.Cursor, "", cycleStartData(st, d, to)))
	}
	return all
}

// transitionData returns the data of a transition, with the metrics of the visit that it ends (REQUIREMENTS
// U225).
func (f *Fold) transitionData(e event.Event, d event.NodeCompleteData, to string) event.StageTransitionData {
	t := event.StageTransitionData{From: d.Name, To: to, Outcome: d.Outcome, CycleCount: d.Cycle}
	if e.Cursor == nil {
		return t
	}
	if v, ok := f.timeline.Last(e.Cursor.NodePath); ok {
		t.DurationMS, t.TokensUsed, t.RetryCount = v.DurationMS, v.Tokens(), v.Retries+v.StageRetries
	}
	return t
}

// budgetWarnings returns the policy.cost.warn_usd limits that the event has crossed; st is the state after
// it.
func budgetWarnings(p *plan.Plan, e event.Event, st state.State) []event.BudgetWarningData {
	var all []event.BudgetWarningData
	for _, scope := range slices.Sorted(maps.Keys(st.Charges)) {
		charge := st.Charges[scope]
		if charge.WarnedAt == 0 || charge.WarnedAt != e.Seq {
			continue
		}
		for _, c := range p.Ceilings(scope) {
			if c.Scope == scope {
				all = append(all, event.BudgetWarningData{Scope: scope, SpentUSD: charge.USD, WarnUSD: c.Cost.WarnUSD, MaxUSD: c.Cost.MaxUSD})
			}
		}
	}
	return all
}

// cycleStartData returns the data of a return over a counted edge; st is the state after it.
func cycleStartData(st state.State, d event.NodeCompleteData, to string) event.CycleStartData {
	return event.CycleStartData{Edge: d.Edge, From: d.Name, To: to, Count: d.Cycle, Limit: d.Limit, Total: st.Returns, Reason: d.Reason}
}

// artifactEvents returns the informational artifact events that follow from an applied event.
func artifactEvents(p *plan.Plan, e event.Event, st state.State) []event.Event {
	_, at, _, ok := e.Key.Parse()
	n := p.Find(at.Node)
	if !ok || n == nil {
		return nil
	}
	derive := func(t event.Type, data any) event.Event {
		derived := event.New(t, e.Cursor, "", data)
		derived.Attempt = e.Attempt
		return derived
	}
	switch e.Type {
	case event.Error:
		d, err := event.Decode[event.FailureData](e)
		if err != nil || len(d.Faults) == 0 || e.Key.Kind() != event.KeySettle {
			return nil
		}
		heals := st.LoopAt(at).Phase == state.PhaseReady
		return []event.Event{derive(event.ArtifactInvalid, event.ArtifactInvalidData{Node: n.ID, Faults: d.Faults, Retried: heals})}
	case event.IterationComplete:
		d, err := event.Decode[event.IterationCompleteData](e)
		if err != nil || d.ArtifactRetries == 0 {
			return nil
		}
		return []event.Event{derive(event.ArtifactHealed, event.ArtifactHealedData{Node: n.ID, Retries: d.ArtifactRetries})}
	case event.InputChecked:
		d, err := event.Decode[event.InputCheckedData](e)
		if err != nil {
			return nil
		}
		var all []event.Event
		for _, warning := range d.Warnings {
			all = append(all, derive(event.ArtifactWarning, event.ArtifactWarningData{Node: n.ID, Message: warning}))
		}
		return all
	default:
		return nil
	}
}

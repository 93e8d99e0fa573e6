package state

import (
	"maps"
	"slices"
	"time"

	"github.com/dodo-digital/agent-pipelines/kernel/event"
)

// Reservations sums the reservations of the calls in flight in a scope.
func (s State) Reservations(scope string) Reservations {
	var sum Reservations
	for _, path := range slices.Sorted(maps.Keys(s.Nodes)) {
		n := s.Nodes[path]
		if n.Status != NodeRunning {
			continue
		}
		for _, ref := range n.ActiveLoops(path) {
			part, isReserved := ref.Loop.Reserved[scope]
			if !isReserved {
				continue
			}
			sum.Calls++
			if part.USD != nil {
				sum.USD += *part.USD
			}
			if part.Tokens != nil {
				sum.Tokens += *part.Tokens
			}
		}
	}
	return sum
}

// EffectsInFlight returns all effects in flight, ordered by node path and branch.
func (s State) EffectsInFlight() []Effect {
	effects := s.HookCursor.firingCall(event.Location{})
	for _, path := range slices.Sorted(maps.Keys(s.Nodes)) {
		if n := s.Nodes[path]; n.Status == NodeRunning {
			effects = append(effects, n.EffectsInFlight(path)...)
		}
	}
	return effects
}

// IsHookRunning reports whether a hook is being called.
func (s State) IsHookRunning() bool {
	return slices.ContainsFunc(s.EffectsInFlight(), func(e Effect) bool { return e.Key.Kind() == event.KeyHook })
}

// Guarded reports whether a guardrail's timer is set.
func (s State) Guarded() bool {
	for _, t := range s.Timers {
		if t.Purpose == PurposeGuardrail {
			return true
		}
	}
	return false
}

// Remaining returns the time, at least 0, that the guardrails leave at now for the work at a location. bounded is false
// if no guardrail bounds the location.
func (s State) Remaining(loc event.Location, now time.Time) (least time.Duration, bounded bool) {
	for key, t := range s.Timers {
		_, bound, _, ok := key.Parse()
		if t.Purpose != PurposeGuardrail || !ok || !bound.Contains(loc) {
			continue
		}
		if left := max(0, t.Due.Sub(now)); !bounded || left < least {
			least, bounded = left, true
		}
	}
	return least, bounded
}

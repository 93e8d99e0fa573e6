package state

import (
	"maps"
	"slices"

	"github.com/dodo-digital/agent-pipelines/kernel/event"
)

// Effect is an effect in flight as far as the state shows it. The state does not show calls of a strategy.
type Effect struct {
	Key      event.Key
	Location event.Location
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

// EffectsInFlight returns the effects in flight in a running node.
func (n Node) EffectsInFlight(path string) []Effect {
	effects := n.HookCursor.firingCall(n.Location(path))
	for _, ref := range n.ActiveLoops(path) {
		if ref.Location.Branch != "" {
			effects = append(effects, n.Branches[ref.Location.Branch].HookCursor.firingCall(ref.Location)...)
		}
		if key, busy := ref.PendingEffect(); busy {
			effects = append(effects, Effect{key, ref.Location})
		}
	}
	return effects
}

// firingCall returns the hook that is being called at the cursor, if any. The cursor's iteration replaces that of the
// location.
func (c HookCursor) firingCall(loc event.Location) []Effect {
	if c.Firing == 0 {
		return nil
	}
	loc.Iteration = c.Iteration
	return []Effect{{c.Key(loc, c.Firing), loc}}
}

// PendingEffect returns the key of the effect that the loop waits for, as far as the state shows it.
func (r LoopRef) PendingEffect() (event.Key, bool) {
	if calls := r.Loop.HookCursor.firingCall(r.Location); calls != nil {
		return calls[0].Key, true
	}
	switch r.Loop.Phase {
	case PhaseAttempt:
		return r.Location.Key(event.KeyAttempt, r.Loop.Attempt), true
	case PhaseAsking:
		return r.Location.Key(event.KeyQuestion, r.Loop.Round+1), true
	default:
		return "", false
	}
}

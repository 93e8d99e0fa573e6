package schedule

import (
	"maps"
	"slices"

	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/state"
)

// inFlightEffect is an effect in flight as far as the state shows it. The state does not show calls of a strategy.
type inFlightEffect struct {
	key event.Key
	loc event.Location
}

// cancelInFlight returns the cancel commands for everything in flight, ordered by node path and branch.
func cancelInFlight(s state.State) []Command {
	var cmds []Command
	add := func(flights ...inFlightEffect) {
		for _, f := range flights {
			cmds = append(cmds, Command{Kind: Cancel, Key: f.key, Location: f.loc})
		}
	}
	add(firingHook(event.Location{}, s.HookCursor)...)
	for _, path := range slices.Sorted(maps.Keys(s.Nodes)) {
		if n := s.Nodes[path]; n.Status == state.NodeRunning {
			add(inFlightEffects(path, n)...)
		}
	}
	return cmds
}

// inFlightEffects returns the effects in flight in a running node.
func inFlightEffects(path string, n state.Node) []inFlightEffect {
	loc := nodeLocation(path, n)
	loc.Iteration = n.HookCursor.Iteration
	flights := firingHook(loc, n.HookCursor)
	for _, ref := range activeLoops(path, n) {
		if ref.loc.Branch != "" {
			loc, cursor := ref.loc, n.Branches[ref.loc.Branch].HookCursor
			loc.Iteration = cursor.Iteration
			flights = append(flights, firingHook(loc, cursor)...)
		}
		if key, busy := pendingEffect(ref); busy {
			flights = append(flights, inFlightEffect{key, ref.loc})
		}
	}
	return flights
}

// firingHook returns the hook that is being called at a cursor, if any.
func firingHook(loc event.Location, cursor state.HookCursor) []inFlightEffect {
	if cursor.Firing == 0 {
		return nil
	}
	return []inFlightEffect{{hookKey(loc, cursor, cursor.Firing), loc}}
}

// pendingEffect returns the key of the effect that a loop waits for, as far as the state shows it.
func pendingEffect(s loopRef) (event.Key, bool) {
	if s.loop.HookCursor.Firing > 0 {
		s.loc.Iteration = s.loop.HookCursor.Iteration
		return hookKey(s.loc, s.loop.HookCursor, s.loop.HookCursor.Firing), true
	}
	switch s.loop.Phase {
	case state.PhaseAttempt:
		return s.loc.Key(event.KeyAttempt, s.loop.Attempt), true
	case state.PhaseAsking:
		return s.loc.Key(event.KeyQuestion, s.loop.Round+1), true
	default:
		return "", false
	}
}

// IsHookRunning reports whether a hook is being called.
func IsHookRunning(s state.State) bool {
	for _, c := range cancelInFlight(s) {
		if c.Key.Kind() == event.KeyHook {
			return true
		}
	}
	return false
}

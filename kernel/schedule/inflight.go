package schedule

import (
	"maps"
	"slices"

	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/state"
)

// flight is an effect that is under way as far as the state shows it: that of a strategy it does not show.
type inFlightEffect struct {
	key event.Key
	loc event.Location
}

// inFlight are the cancel commands for what is under way, in the order of node paths and branches.
func cancelInFlight(s state.State) []Command {
	var cmds []Command
	add := func(flights ...inFlightEffect) {
		for _, f := range flights {
			cmds = append(cmds, Command{Kind: Cancel, Key: f.key, Location: f.loc})
		}
	}
	add(firingHook(event.Location{}, s.Gate)...)
	for _, path := range slices.Sorted(maps.Keys(s.Nodes)) {
		if n := s.Nodes[path]; n.Status == state.NodeRunning {
			add(inFlightEffects(path, n)...)
		}
	}
	return cmds
}

// flightsOf is what is under way in a node that runs.
func inFlightEffects(path string, n state.Node) []inFlightEffect {
	loc := nodeLocation(path, n)
	loc.Iteration = n.Gate.Iteration
	flights := firingHook(loc, n.Gate)
	for _, ref := range activeLoops(path, n) {
		if ref.loc.Branch != "" {
			loc, gate := ref.loc, n.Branches[ref.loc.Branch].Gate
			loc.Iteration = gate.Iteration
			flights = append(flights, firingHook(loc, gate)...)
		}
		if key, busy := pendingEffect(ref); busy {
			flights = append(flights, inFlightEffect{key, ref.loc})
		}
	}
	return flights
}

// firing is the hook that is being called at a gate, if one is.
func firingHook(loc event.Location, g state.HookCursor) []inFlightEffect {
	if g.Firing == 0 {
		return nil
	}
	return []inFlightEffect{{hookKey(loc, g, g.Firing), loc}}
}

// underWay is the key of the effect that a loop waits for, as far as the state shows it.
func pendingEffect(s loopRef) (event.Key, bool) {
	if s.loop.Gate.Firing > 0 {
		s.loc.Iteration = s.loop.Gate.Iteration
		return hookKey(s.loc, s.loop.Gate, s.loop.Gate.Firing), true
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

// Firing reports whether a hook is being called.
func Firing(s state.State) bool {
	for _, c := range cancelInFlight(s) {
		if c.Key.Kind() == event.KeyHook {
			return true
		}
	}
	return false
}

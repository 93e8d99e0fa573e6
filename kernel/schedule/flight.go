package schedule

import (
	"maps"
	"slices"

	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/state"
)

// flight is an effect that is under way as far as the state shows it: that of a strategy it does not show.
type flight struct {
	key event.Key
	at  event.Location
}

// inFlight are the cancel commands for what is under way, in the order of node paths and branches.
func inFlight(s state.State) []Command {
	var cmds []Command
	add := func(flights ...flight) {
		for _, f := range flights {
			cmds = append(cmds, Command{Kind: Cancel, Key: f.key, Location: f.at})
		}
	}
	add(firing(event.Location{}, s.Gate)...)
	for _, path := range slices.Sorted(maps.Keys(s.Nodes)) {
		if n := s.Nodes[path]; n.Status == state.NodeRunning {
			add(flightsOf(path, n)...)
		}
	}
	return cmds
}

// flightsOf is what is under way in a node that runs.
func flightsOf(path string, n state.Node) []flight {
	at := placeOfNode(path, n)
	at.Iteration = n.Gate.Iteration
	flights := firing(at, n.Gate)
	for _, seat := range seats(path, n) {
		if seat.at.Branch != "" {
			at, gate := seat.at, n.Branches[seat.at.Branch].Gate
			at.Iteration = gate.Iteration
			flights = append(flights, firing(at, gate)...)
		}
		if key, busy := underWay(seat); busy {
			flights = append(flights, flight{key, seat.at})
		}
	}
	return flights
}

// firing is the hook that is being called at a gate, if one is.
func firing(at event.Location, g state.HookCursor) []flight {
	if g.Firing == 0 {
		return nil
	}
	return []flight{{hookKey(at, g, g.Firing), at}}
}

// underWay is the key of the effect that a loop waits for, as far as the state shows it.
func underWay(s seat) (event.Key, bool) {
	if s.loop.Gate.Firing > 0 {
		s.at.Iteration = s.loop.Gate.Iteration
		return hookKey(s.at, s.loop.Gate, s.loop.Gate.Firing), true
	}
	switch s.loop.Phase {
	case state.PhaseAttempt:
		return s.at.Key(event.KeyAttempt, s.loop.Attempt), true
	case state.PhaseAsking:
		return s.at.Key(event.KeyQuestion, s.loop.Round+1), true
	default:
		return "", false
	}
}

// Firing reports whether a hook is being called.
func Firing(s state.State) bool {
	for _, c := range inFlight(s) {
		if c.Key.Kind() == event.KeyHook {
			return true
		}
	}
	return false
}

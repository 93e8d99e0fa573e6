package schedule

import (
	"maps"
	"slices"

	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/state"
)

// loopRef is an iteration loop with its location: in a stage node, in one of its steps, or in a branch of a parallel
// block.
type loopRef struct {
	loc  event.Location // of the loop's current iteration
	loop state.Loop
}

// isBlock reports whether the node is a parallel block, which has no loop of its own.
func isBlock(n state.Node) bool { return n.Loop.Phase == "" }

// activeLoops returns the loops of a node that was entered: its own, then those of its running steps in order; in a
// block those of its running branches by name.
func activeLoops(path string, n state.Node) []loopRef {
	var all []loopRef
	if !isBlock(n) {
		all = append(all, loopRef{iterationLocation(path, n), n.Loop})
		for _, id := range n.Order {
			if st := n.Steps[id]; st.Status == state.StepRunning {
				all = append(all, loopRef{stepLocation(path, n, id), st.Loop})
			}
		}
		return all
	}
	for _, id := range slices.Sorted(maps.Keys(n.Branches)) {
		if b := n.Branches[id]; b.Status == state.NodeRunning {
			all = append(all, loopRef{branchLocation(path, n, id), b.Loop})
		}
	}
	return all
}

// updateLoops replaces every loop of the node in a stable order, including those of branches that failed.
func updateLoops(path string, n *state.Node, change func(event.Location, state.Loop) state.Loop) {
	if !isBlock(*n) {
		n.Loop = change(iterationLocation(path, *n), n.Loop)
		for _, id := range n.Order {
			if st := n.Steps[id]; st.Status == state.StepRunning {
				st.Loop = change(stepLocation(path, *n, id), st.Loop)
				n.Steps[id] = st
			}
		}
		return
	}
	for _, id := range slices.Sorted(maps.Keys(n.Branches)) {
		if b := n.Branches[id]; b.Status != state.NodeComplete {
			b.Loop = change(branchLocation(path, *n, id), b.Loop)
			n.Branches[id] = b
		}
	}
}

// findLoop returns the loop at a location of a node, false if nothing runs there.
func findLoop(n state.Node, loc event.Location) (loopRef, bool) {
	for _, s := range activeLoops(loc.Outer(), n) {
		if s.loc.Node == loc.Node && s.loc.Branch == loc.Branch && s.loc.Step == loc.Step && s.loc.Visit == loc.Visit && s.loc.Run == loc.Run {
			return s, true
		}
	}
	return loopRef{}, false
}

// setLoop stores a loop at its location.
func setLoop(n *state.Node, loc event.Location, l state.Loop) {
	switch {
	case loc.Step != "":
		st := n.Steps[loc.Step]
		st.Loop = l
		n.Steps[loc.Step] = st
		return
	case loc.Branch == "":
		n.Loop = l
		return
	}
	b := n.Branches[loc.Branch]
	b.Loop = l
	n.Branches[loc.Branch] = b
}

// iterationLocation returns the location of the current iteration of a stage node.
func iterationLocation(path string, n state.Node) event.Location {
	return event.Location{Node: path, Visit: n.Visit, Run: n.Run, Iteration: currentIteration(n.Loop)}
}

// stepLocation returns the location of the current iteration of a step.
func stepLocation(path string, n state.Node, id string) event.Location {
	return event.Location{Node: path, Visit: n.Visit, Run: n.Run, Step: id, Iteration: currentIteration(n.Steps[id].Loop)}
}

// nodeLocation returns the location of the node as a whole.
func nodeLocation(path string, n state.Node) event.Location {
	return event.Location{Node: path, Visit: n.Visit, Run: n.Run}
}

// currentIteration returns the number of a loop's iteration: while its strategy is asked, the last one completed; 0
// before the first.
func currentIteration(l state.Loop) int {
	switch l.Phase {
	case state.PhaseDecide, state.PhaseQuestion, state.PhaseAsking:
		return l.Completed
	default:
		return l.Iteration
	}
}

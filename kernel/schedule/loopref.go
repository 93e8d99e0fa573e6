package schedule

import (
	"maps"
	"slices"

	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/state"
)

// seat is where an iteration loop is: in a stage node itself, in one of its steps, or in a branch of a parallel block.
type loopRef struct {
	loc  event.Location // of the iteration that the loop is at
	loop state.Loop
}

// isBlock reports whether the node is a parallel block, which has no loop of its own.
func isBlock(n state.Node) bool { return n.Loop.Phase == "" }

// seats are the loops of a node that was entered: its own, then those of its steps in their order; in a block in the
// order of the branches' names. A branch or step that has ended has none.
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

// eachLoop replaces every loop of the node in a stable order, also those of branches that failed.
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

// loopAt is the loop at a place of a node; false if nothing runs there.
func findLoop(n state.Node, loc event.Location) (loopRef, bool) {
	for _, s := range activeLoops(loc.Outer(), n) {
		if s.loc.Node == loc.Node && s.loc.Branch == loc.Branch && s.loc.Step == loc.Step && s.loc.Visit == loc.Visit && s.loc.Run == loc.Run {
			return s, true
		}
	}
	return loopRef{}, false
}

// setLoop puts a loop back where it was found.
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

// placeOf is the place of the iteration that a stage node is at.
func iterationLocation(path string, n state.Node) event.Location {
	return event.Location{Node: path, Visit: n.Visit, Run: n.Run, Iteration: currentIteration(n.Loop)}
}

// placeOfStep is the place of the iteration that a step is at.
func stepLocation(path string, n state.Node, id string) event.Location {
	return event.Location{Node: path, Visit: n.Visit, Run: n.Run, Step: id, Iteration: currentIteration(n.Steps[id].Loop)}
}

// placeOfNode is a node as a whole.
func nodeLocation(path string, n state.Node) event.Location {
	return event.Location{Node: path, Visit: n.Visit, Run: n.Run}
}

// iterationOf is the iteration that a loop is at: while its strategy is asked, the one that was completed,
// 0 before the first.
func currentIteration(l state.Loop) int {
	switch l.Phase {
	case state.PhaseDecide, state.PhaseQuestion, state.PhaseAsking:
		return l.Completed
	default:
		return l.Iteration
	}
}

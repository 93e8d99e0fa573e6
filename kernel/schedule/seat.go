package schedule

import (
	"maps"
	"slices"

	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/state"
)

// seat is where an iteration loop is: in a stage node itself, in one of its steps, or in a branch of a parallel block.
type seat struct {
	at   event.Location // of the iteration that the loop is at
	loop state.Loop
}

// isBlock reports whether the node is a parallel block, which has no loop of its own.
func isBlock(n state.Node) bool { return n.Loop.Phase == "" }

// seats are the loops of a node that was entered: its own, then those of its steps in their order; in a block in the
// order of the branches' names. A branch or step that has ended has none.
func seats(path string, n state.Node) []seat {
	var all []seat
	if !isBlock(n) {
		all = append(all, seat{placeOf(path, n), n.Loop})
		for _, id := range n.Order {
			if st := n.Steps[id]; st.Status == state.StepRunning {
				all = append(all, seat{placeOfStep(path, n, id), st.Loop})
			}
		}
		return all
	}
	for _, id := range slices.Sorted(maps.Keys(n.Branches)) {
		if b := n.Branches[id]; b.Status == state.NodeRunning {
			all = append(all, seat{placeOfBranch(path, n, id), b.Loop})
		}
	}
	return all
}

// eachLoop replaces every loop of the node in a stable order, also those of branches that failed.
func eachLoop(path string, n *state.Node, change func(event.Location, state.Loop) state.Loop) {
	if !isBlock(*n) {
		n.Loop = change(placeOf(path, *n), n.Loop)
		for _, id := range n.Order {
			if st := n.Steps[id]; st.Status == state.StepRunning {
				st.Loop = change(placeOfStep(path, *n, id), st.Loop)
				n.Steps[id] = st
			}
		}
		return
	}
	for _, id := range slices.Sorted(maps.Keys(n.Branches)) {
		if b := n.Branches[id]; b.Status != state.NodeComplete {
			b.Loop = change(placeOfBranch(path, *n, id), b.Loop)
			n.Branches[id] = b
		}
	}
}

// loopAt is the loop at a place of a node; false if nothing runs there.
func loopAt(n state.Node, at event.Location) (seat, bool) {
	for _, s := range seats(at.Outer(), n) {
		if s.at.Node == at.Node && s.at.Branch == at.Branch && s.at.Step == at.Step && s.at.Visit == at.Visit && s.at.Run == at.Run {
			return s, true
		}
	}
	return seat{}, false
}

// setLoop puts a loop back where it was found.
func setLoop(n *state.Node, at event.Location, l state.Loop) {
	switch {
	case at.Step != "":
		st := n.Steps[at.Step]
		st.Loop = l
		n.Steps[at.Step] = st
		return
	case at.Branch == "":
		n.Loop = l
		return
	}
	b := n.Branches[at.Branch]
	b.Loop = l
	n.Branches[at.Branch] = b
}

// placeOf is the place of the iteration that a stage node is at.
func placeOf(path string, n state.Node) event.Location {
	return event.Location{Node: path, Visit: n.Visit, Run: n.Run, Iteration: iterationOf(n.Loop)}
}

// placeOfStep is the place of the iteration that a step is at.
func placeOfStep(path string, n state.Node, id string) event.Location {
	return event.Location{Node: path, Visit: n.Visit, Run: n.Run, Step: id, Iteration: iterationOf(n.Steps[id].Loop)}
}

// placeOfNode is a node as a whole.
func placeOfNode(path string, n state.Node) event.Location {
	return event.Location{Node: path, Visit: n.Visit, Run: n.Run}
}

// iterationOf is the iteration that a loop is at: while its strategy is asked, the one that was completed,
// 0 before the first.
func iterationOf(l state.Loop) int {
	switch l.Phase {
	case state.PhaseDecide, state.PhaseQuestion, state.PhaseAsking:
		return l.Completed
	default:
		return l.Iteration
	}
}

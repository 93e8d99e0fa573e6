package state

import (
	"fmt"
	"maps"
	"slices"

	"github.com/dodo-digital/agent-pipelines/kernel/event"
)

// LoopRef is an iteration loop with its location: in a stage node, in one of its steps, or in a branch of a parallel
// block.
type LoopRef struct {
	Location event.Location // of the loop's current iteration
	Loop     Loop
}

// IsBlock reports whether the node is a parallel block, which has no loop of its own.
func (n Node) IsBlock() bool { return n.Loop.Phase == "" }

// ActiveLoops returns the loops of a node that was entered: its own, then those of its running steps in order; in a
// block those of its running branches by name.
func (n Node) ActiveLoops(path string) []LoopRef {
	var all []LoopRef
	if !n.IsBlock() {
		all = append(all, LoopRef{n.IterationLocation(path), n.Loop})
		for _, id := range n.Order {
			if st := n.Steps[id]; st.Status == StepRunning {
				all = append(all, LoopRef{n.StepLocation(path, id), st.Loop})
			}
		}
		return all
	}
	for _, id := range slices.Sorted(maps.Keys(n.Branches)) {
		if b := n.Branches[id]; b.Status == NodeRunning {
			all = append(all, LoopRef{n.BranchLocation(path, id), b.Loop})
		}
	}
	return all
}

// UpdateLoops changes every loop of the node in a stable order, including those of branches that failed.
func (n *Node) UpdateLoops(path string, change func(event.Location, *Loop)) {
	if !n.IsBlock() {
		change(n.IterationLocation(path), &n.Loop)
		for _, id := range n.Order {
			if st := n.Steps[id]; st.Status == StepRunning {
				change(n.StepLocation(path, id), &st.Loop)
				n.Steps[id] = st
			}
		}
		return
	}
	for _, id := range slices.Sorted(maps.Keys(n.Branches)) {
		if b := n.Branches[id]; b.Status != NodeComplete {
			change(n.BranchLocation(path, id), &b.Loop)
			n.Branches[id] = b
		}
	}
}

// FindLoop returns the loop at a location of the node, false if nothing runs there.
func (n Node) FindLoop(loc event.Location) (LoopRef, bool) {
	for _, ref := range n.ActiveLoops(loc.Outer()) {
		at := ref.Location
		at.Iteration = loc.Iteration
		if at == loc {
			return ref, true
		}
	}
	return LoopRef{}, false
}

// SetLoop stores a loop at its location.
func (n *Node) SetLoop(loc event.Location, l Loop) {
	switch {
	case loc.Step != "":
		st := n.Steps[loc.Step]
		st.Loop = l
		n.Steps[loc.Step] = st
	case loc.Branch != "":
		b := n.Branches[loc.Branch]
		b.Loop = l
		n.Branches[loc.Branch] = b
	default:
		n.Loop = l
	}
}

// Location returns the location of the node as a whole.
func (n Node) Location(path string) event.Location {
	return event.Location{Node: path, Visit: n.Visit, Run: n.Run}
}

// IterationLocation returns the location of the current iteration of a stage node.
func (n Node) IterationLocation(path string) event.Location {
	return event.Location{Node: path, Visit: n.Visit, Run: n.Run, Iteration: n.Loop.CurrentIteration()}
}

// StepLocation returns the location of the current iteration of a step.
func (n Node) StepLocation(path, id string) event.Location {
	return event.Location{Node: path, Visit: n.Visit, Run: n.Run, Step: id, Iteration: n.Steps[id].Loop.CurrentIteration()}
}

// BranchLocation returns the location of a provider's current iteration.
func (n Node) BranchLocation(path, id string) event.Location {
	b := n.Branches[id]
	return event.Location{
		Node: fmt.Sprintf("%s.%d", path, b.Stage), Visit: n.Visit, Run: n.Run, Branch: id, Iteration: b.Loop.CurrentIteration(),
	}
}

// CurrentIteration returns the number of the loop's iteration: while its strategy is asked, the last one completed; 0
// before the first.
func (l Loop) CurrentIteration() int {
	switch l.Phase {
	case PhaseDecide, PhaseQuestion, PhaseAsking:
		return l.Completed
	default:
		return l.Iteration
	}
}

// HasBegun reports whether any work of the node's visit has begun.
func (n Node) HasBegun() bool {
	return n.Runs > 0 || len(n.Branches) > 0 || !n.IsBlock() && !n.Loop.IsFresh()
}

// IsFresh reports whether nothing of the loop has begun.
func (l Loop) IsFresh() bool {
	return (l.Phase == PhaseReady || l.Phase == PhaseEnter) && len(l.Measured) == 0 && l.Iteration == 0 && l.Completed == 0 && l.HookCursor.Point == ""
}

package state

import (
	"fmt"
	"maps"
	"slices"

	"github.com/dodo-digital/agent-pipelines/kernel/event"
)

// InputKey returns the key for inspecting the node's input artifact.
func (n Node) InputKey(path string) event.Key { return n.Location(path).Key(event.KeyInput, 1) }

// RestartKey returns the key of the question whether the node may restart again.
func (n Node) RestartKey(path string) event.Key { return n.Location(path).Key(event.KeyRestart, 1) }

// EscalationKey returns the key of the question about a node that cannot be left.
func (n Node) EscalationKey(path string) event.Key { return n.Location(path).Key(event.KeyEscalate, 1) }

// DeliverableKey returns the key for settling a node that wraps a pipeline.
func (n Node) DeliverableKey(path string) event.Key { return n.Location(path).Key(event.KeySettle, 1) }

// IsBlock reports whether the node has no loop of its own, which is true of a parallel block and of a pipeline node.
func (n Node) IsBlock() bool { return n.Loop.Phase == "" }

// ActiveLoops returns the loops of a node that was entered. They are its own loop, then those of its running steps in
// order; in a block those of its running branches by name.
func (n Node) ActiveLoops(path string) []LoopRef { return n.loops(path, false) }

// UpdateLoops changes every active loop of the node, and those of branches that failed, in a stable order.
func (n *Node) UpdateLoops(path string, change func(event.Location, *Loop)) {
	for _, ref := range n.loops(path, true) {
		change(ref.Location, &ref.Loop)
		n.SetLoop(ref.Location, ref.Loop)
	}
}

// loops returns the active loops of the node, and those of branches that failed if failed is set.
func (n Node) loops(path string, failed bool) []LoopRef {
	var all []LoopRef
	if n.IsBlock() {
		for _, id := range slices.Sorted(maps.Keys(n.Branches)) {
			if b := n.Branches[id]; b.Status == NodeRunning || failed && b.Status != NodeComplete {
				all = append(all, LoopRef{n.BranchLocation(path, id), b.Loop})
			}
		}
		return all
	}
	all = append(all, LoopRef{n.IterationLocation(path), n.Loop})
	for _, id := range n.Order {
		if st := n.Steps[id]; st.Status == StepRunning {
			all = append(all, LoopRef{n.StepLocation(path, id), st.Loop})
		}
	}
	return all
}

// FindLoop returns the active loop at a location of the node, false if there is none.
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

// HasBegun reports whether any work of the node's visit has begun.
func (n Node) HasBegun() bool {
	return n.Runs > 0 || len(n.Branches) > 0 || !n.IsBlock() && !n.Loop.IsFresh()
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

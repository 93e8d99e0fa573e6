package trace

import (
	"cmp"
	"strings"
	"time"

	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/state"
)

// iterationSpan returns the span around that of a key, and opens it if necessary.
func (b *SpanBuilder) iterationSpan(key event.Key, at time.Time) *openSpan {
	_, place, _, ok := key.Parse()
	outer := key.Parent()
	switch {
	case !ok || outer == "":
		return b.top
	case outer.Kind() == event.KeyIteration:
		return b.iteration(place, at)
	default:
		return b.part(place, at)
	}
}

// nearest returns the innermost open span around that of a key; it opens none.
func (b *SpanBuilder) nearest(key event.Key) *openSpan {
	for outer := key; outer != ""; outer = outer.Parent() {
		if o := b.spans[outer]; o != nil {
			return o
		}
	}
	return b.top
}

// node returns the span of a visit of a node.
func (b *SpanBuilder) node(place event.Location, at time.Time) *openSpan {
	place = event.Location{Node: place.Outer(), Visit: place.Visit, Run: place.Run}
	key := place.Key(event.KeyNode, 1)
	if o := b.spans[key]; o != nil {
		return o
	}
	if was := b.paths[place.Node]; was != nil && b.spans[was.key] == was { // the node restarts
		was.addAttributes(KeyOutcome.String("restarted"))
		b.end(was, at, "", interrupted)
	}
	id, kind := place.Node, ""
	if n := b.plan.Find(place.Node); n != nil {
		id, kind = n.ID, string(n.Kind)
	}
	o := b.start(key, b.embedder(place.Node), "node "+id, at, KeyNode.String(id), keyPath.String(place.Node), keyVisit.Int(place.Visit), keyRun.Int(place.Run), keyKind.String(kind))
	b.paths[place.Node] = o
	return o
}

// embedder returns the span of the node that embeds the one at a path, else that of the run.
func (b *SpanBuilder) embedder(path string) *openSpan {
	for {
		i := strings.LastIndexByte(path, '.')
		if i < 0 {
			return b.top
		}
		path = path[:i]
		if o := b.paths[path]; o != nil && b.spans[o.key] == o {
			return o
		}
	}
}

// part returns the span of a sequence of iterations: of a provider in a parallel block, of a step, or of a node.
func (b *SpanBuilder) part(place event.Location, at time.Time) *openSpan {
	node := b.node(place, at)
	place.Iteration = 0
	if place.Branch != "" {
		place.Node = place.Outer()
	}
	key := place.Key(event.KeyNode, 1)
	if o := b.spans[key]; o != nil {
		return o
	}
	if place.Branch != "" {
		return b.start(key, node, "provider "+place.Branch, at, keyBranch.String(place.Branch))
	}
	return b.start(key, node, "step "+place.Step, at, keyStep.String(place.Step))
}

// iteration returns the span of an iteration. It ends the one before.
func (b *SpanBuilder) iteration(place event.Location, at time.Time) *openSpan {
	key := place.Key(event.KeyIteration, 1)
	if o := b.spans[key]; o != nil {
		return o
	}
	part := b.part(place, at)
	for _, in := range append([]*openSpan(nil), part.children...) {
		if in.key.Kind() == event.KeyIteration && in.done {
			b.end(in, in.last, "", interrupted)
		}
	}
	o := b.start(key, part, "iteration", at, keyIteration.Int(place.Iteration))
	if n := b.plan.Find(place.Node); n != nil {
		o.node = n.ID
		o.addAttributes(KeyNode.String(n.ID), keyPath.String(place.Node))
	}
	o.addAttributes(keyBranch.String(place.Branch), keyStep.String(place.Step))
	return o
}

// visitLocation returns the location of a visit for an event without a key.
func (b *SpanBuilder) visitLocation(e event.Event) (event.Location, bool) {
	if e.Cursor == nil || b.state == nil {
		return event.Location{}, false
	}
	place := event.Location{Node: e.Cursor.NodePath, Visit: max(e.Cursor.Visit, 1), Run: 1}
	if n, ok := b.state.Nodes[place.Node]; ok {
		place.Visit, place.Run = cmp.Or(n.Visit, place.Visit), cmp.Or(n.Run, 1)
	}
	return place, place.Node != ""
}

// attempting reports whether an attempt is running at a location, by the state: an iteration that is checked first, or
// that consists of its node's steps, begins without one.
func (b *SpanBuilder) attempting(at event.Location) bool {
	n := b.state.Nodes[at.Outer()]
	loop := n.Loop
	switch {
	case at.Branch != "":
		loop = n.Branches[at.Branch].Loop
	case at.Step != "":
		loop = n.Steps[at.Step].Loop
	}
	return loop.Phase == state.PhaseAttempt
}

package trace

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"go.opentelemetry.io/otel/attribute"

	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
)

// openSpans holds the spans that have not ended, and opens, finds and ends them.
type openSpans struct {
	ended func(Span)

	plan  *plan.Plan
	run   string // the id of the run, "" before the first event with a run id
	epoch int
	// resumed is the epoch of the last resume, 0 for the first segment of the run.
	resumed int
	resting bool      // spans end because the session pauses or ends
	top     *openSpan // of the run or a resume, nil while the session is paused or ended
	spans   map[event.Key]*openSpan
	paths   map[string]*openSpan       // of nodes, by path
	before  map[event.Key]event.SpanID // the last span of each key whose work a resume may continue
	used    map[event.SpanID]bool      // ids of all spans
}

// iterationSpan returns the span that contains the span of a key, and opens it if necessary.
func (b *openSpans) iterationSpan(key event.Key, at time.Time) *openSpan {
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

// nearest returns the open span of a key, else the innermost open span around it; it opens none.
func (b *openSpans) nearest(key event.Key) *openSpan {
	for outer := key; outer != ""; outer = outer.Parent() {
		if o := b.spans[outer]; o != nil {
			return o
		}
	}
	return b.top
}

// node returns the span of a visit of a node.
func (b *openSpans) node(place event.Location, at time.Time) *openSpan {
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

// embedder returns the span of the node that embeds the node at a path, else the span of the run.
func (b *openSpans) embedder(path string) *openSpan {
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
func (b *openSpans) part(place event.Location, at time.Time) *openSpan {
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

// iteration returns the span of an iteration. A new span ends the spans of earlier iterations whose work is done.
func (b *openSpans) iteration(place event.Location, at time.Time) *openSpan {
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

// start opens the span of a key within another. A new kernel continues the span.
func (b *openSpans) start(key event.Key, around *openSpan, name string, at time.Time, attributes ...attribute.KeyValue) *openSpan {
	o := b.open(&openSpan{key: key, parent: around, Span: Span{Name: name, Start: at}}, b.resumed)
	o.addAttributes(attributes...)
	o.Before = b.before[key]
	return o
}

// work opens the span of an effect, which belongs to one kernel.
func (b *openSpans) work(key event.Key, around *openSpan, name string, at time.Time, attributes ...attribute.KeyValue) *openSpan {
	if was := b.spans[key]; was != nil {
		b.end(was, at, interrupted, interrupted)
	}
	o := b.open(&openSpan{key: key, parent: around, Span: Span{Name: name, Start: at}}, b.epoch)
	o.addAttributes(attributes...)
	o.epoch = max(b.epoch, 1)
	return o
}

// open opens a span within its parent; it begins no earlier than the parent.
func (b *openSpans) open(o *openSpan, epoch int) *openSpan {
	around := o.parent
	if o.Start.Before(around.Start) {
		o.Start = around.Start
	}
	o.last, o.Trace, o.ID, o.Parent = o.Start, around.Trace, b.id(o.key, epoch), around.ID
	around.children = append(around.children, o)
	around.extend(o.Start)
	b.spans[o.key] = o
	return o
}

// id returns the id of a key's span. In the rare case of a repeated key in an epoch, the second span has its own id.
func (b *openSpans) id(key event.Key, epoch int) event.SpanID {
	id := event.KeySpanID(b.run, key, epoch)
	for n := 2; b.used[id]; n++ {
		id = event.KeySpanID(b.run, key+event.Key("~"+strconv.Itoa(n)), epoch)
	}
	b.used[id] = true
	return id
}

// finish ends the work of a key, if it is open, with an error or with none.
func (b *openSpans) finish(key event.Key, at time.Time, failed string, attributes ...attribute.KeyValue) {
	if o := b.spans[key]; o != nil {
		o.addAttributes(attributes...)
		b.end(o, at, failed, failed)
	}
}

// end ends a span with an error, or with none, and before it the spans within it; unfinished work ends with the error why.
func (b *openSpans) end(o *openSpan, at time.Time, failed, why string) {
	for len(o.children) > 0 {
		in := o.children[0]
		inAt, inFailed := at, ""
		switch {
		case in.done:
			inAt = in.last
		case in.epoch > 0:
			inFailed = why
		}
		b.end(in, inAt, inFailed, why)
	}
	o.End = at
	if o.last.After(at) {
		o.End = o.last
	}
	if failed != "" {
		o.Error = failed
	}
	if o.Error != "" {
		o.addAttributes(KeyError.String(o.Error))
	}
	delete(b.spans, o.key)
	o.Rested = b.resting && o.epoch == 0
	if o.Rested || o.epoch == 0 && o.Error != "" { // failed work is repeated after a resume
		b.before[o.key] = o.ID
	}
	if o.parent != nil {
		o.parent.children = slices.DeleteFunc(o.parent.children, func(in *openSpan) bool { return in == o })
		o.parent.extend(o.End)
	}
	b.ended(o.Span)
}

package trace

import (
	"strings"
	"time"

	"go.opentelemetry.io/otel/attribute"

	"github.com/dodo-digital/agent-pipelines/kernel/event"
)

// Span is something that has ended.
type Span struct {
	Trace event.TraceID
	ID    event.SpanID
	// Parent is the span around it, zero for that of the run.
	Parent event.SpanID
	Name   string
	// Top: it is the span of the run, or of its going on after a rest.
	Top bool
	// Call: it is a call of something outside: a plugin, or through it an agent.
	Call       bool
	Start, End time.Time
	Attributes []attribute.KeyValue
	Events     []Event
	// Before is the span in which the same went on until the session came to rest, zero for none.
	Before event.SpanID
	// Rested: the session came to rest in it, and goes on in another one, if at all. It is of no span of work that was cut off.
	Rested bool
	// Error is the kind of what went wrong, "" for nothing.
	Error string
}

// The kinds of spans that others ask for.
const (
	KindNode    = "node"
	KindAttempt = "attempt"
)

// Is says whether the span is of a kind: the first word of its name.
func (s Span) Is(kind string) bool {
	first, _, _ := strings.Cut(s.Name, " ")
	return first == kind
}

// Cut says whether what it is of did not come to an end of its own.
func (s Span) Cut() bool { return s.Error == interrupted || s.Error == cutOff }

// Event is something that happened within a span.
type Event struct {
	Name       string
	At         time.Time
	Attributes []attribute.KeyValue
}

// openSpan is a span that has not ended.
type openSpan struct {
	Span
	key      event.Key
	parent   *openSpan
	children []*openSpan // that are open, in the order in which they began
	last     time.Time
	epoch    int    // of the kernel whose work it is; 0: it outlives kernels
	done     bool   // an iteration whose work is over: only what follows from it is still to come
	node     string // of an iteration: the id of its node, and whom its attempts ask
	provider string
	model    string
}

// extend lets the span and those around it reach to a time.
func (o *openSpan) extend(at time.Time) {
	for ; o != nil; o = o.parent {
		if at.After(o.last) {
			o.last = at
		}
	}
}

func (o *openSpan) addAttributes(attributes ...attribute.KeyValue) {
	o.Attributes = append(o.Attributes, attributes...)
}

// addEvent adds an event.
func (o *openSpan) addEvent(name string, at time.Time, attributes ...attribute.KeyValue) {
	o.Events = append(o.Events, Event{Name: name, At: at, Attributes: attributes})
	o.extend(at)
}

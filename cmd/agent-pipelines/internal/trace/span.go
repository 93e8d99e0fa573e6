package trace

import (
	"strings"
	"time"

	"go.opentelemetry.io/otel/attribute"

	"github.com/dodo-digital/agent-pipelines/kernel/event"
)

// Span is a span that has ended.
type Span struct {
	Trace event.TraceID
	ID    event.SpanID
	// Parent is the id of the outer span, zero for the span of the run.
	Parent event.SpanID
	Name   string
	// Top reports whether the span is that of a run or of a resume.
	Top bool
	// Call reports whether the span is a call of a plugin, or of an agent through a plugin.
	Call       bool
	Start, End time.Time
	Attributes []attribute.KeyValue
	Events     []Event
	// Before is the id of the span with the same key before the session's last pause or end, zero for none.
	Before event.SpanID
	// Rested reports whether the session paused or ended before the work did. A later span may continue the work.
	Rested bool
	// Error is the kind of the failure, "" for none.
	Error string
}

// Other packages need these kinds of spans.
const (
	KindNode    = "node"
	KindAttempt = "attempt"
)

// Is reports whether the span is of a kind: the first word of its name.
func (s Span) Is(kind string) bool {
	first, _, _ := strings.Cut(s.Name, " ")
	return first == kind
}

// These are the errors of spans that were cut off.
const (
	interrupted = "interrupted"   // the session paused or ended
	cutOff      = "kernel_killed" // the kernel was killed
)

// Cut reports whether the work was cut off.
func (s Span) Cut() bool { return s.Error == interrupted || s.Error == cutOff }

// Event is an event within a span.
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
	children []*openSpan // the open inner spans, in the order in which they began
	last     time.Time
	epoch    int    // of the kernel that does the work; 0: another kernel may continue the span
	done     bool   // an iteration whose work is done; only its hooks and its decision follow
	node     string // of an iteration: the id of its node; provider and model are those of its attempts
	provider string
	model    string
}

// extend moves the end of the span and of the spans around it to a time, if the time is later.
func (o *openSpan) extend(at time.Time) {
	for ; o != nil; o = o.parent {
		if at.After(o.last) {
			o.last = at
		}
	}
}

// addAttributes adds attributes, except empty texts.
func (o *openSpan) addAttributes(attributes ...attribute.KeyValue) {
	for _, a := range attributes {
		if a.Value.Type() != attribute.STRING || a.Value.AsString() != "" {
			o.Attributes = append(o.Attributes, a)
		}
	}
}

// addEvent adds an event.
func (o *openSpan) addEvent(name string, at time.Time, attributes ...attribute.KeyValue) {
	o.Events = append(o.Events, Event{Name: name, At: at, Attributes: attributes})
	o.extend(at)
}

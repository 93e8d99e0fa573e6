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
	// Top reports whether it is the span of a run or of a resume.
	Top bool
	// Call reports whether it is a call of a plugin, or of an agent through a plugin.
	Call       bool
	Start, End time.Time
	Attributes []attribute.KeyValue
	Events     []Event
	// Before is the id of the span with the same key before the session's last rest, zero for none.
	Before event.SpanID
	// Rested reports whether the session rested before the work ended; a later span may continue it. False for cut-off work.
	Rested bool
	// Error is the kind of the failure, "" for none.
	Error string
}

// The kinds of spans that other packages need.
const (
	KindNode    = "node"
	KindAttempt = "attempt"
)

// Is reports whether the span is of a kind: the first word of its name.
func (s Span) Is(kind string) bool {
	first, _, _ := strings.Cut(s.Name, " ")
	return first == kind
}

// The errors of spans that were cut off.
const (
	interrupted = "interrupted"   // the session paused or ended
	cutOff      = "kernel_killed" // its kernel was killed
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
	children []*openSpan // the open ones, in the order in which they began
	last     time.Time
	epoch    int    // of the kernel that does the work; 0: it outlives kernels
	done     bool   // an iteration whose work is done; only its consequences follow
	node     string // of an iteration: the id of its node, and the provider of its attempts
	provider string
	model    string
}

// extend moves the end of the span and of those around it to a time, if that is later.
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

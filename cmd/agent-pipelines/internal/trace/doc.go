// Package trace builds the spans of a run from the events of its journal. It is a fold: the same events always give the
// same spans with the same ids, so that a killed run continues in its own trace. Package telemetry exports them.
//
// Spans that are open when a session pauses or ends are ended; a resumed session continues in new spans of the same
// trace, each with a link to the previous span. A crash does not end spans of nodes: the work of the dead kernel ends
// with its last event, with an error, and the spans around it stay open.
//
// Start with [SpanBuilder]; events.go has the effect of each event, attributes.go the attributes.
package trace

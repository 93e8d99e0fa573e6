package sdk

import (
	"context"
	"slices"
	"strings"
)

// traceParentKey is the key of the trace context in a [context.Context].
type traceParentKey struct{}

// TraceParent returns the W3C traceparent of the call in ctx, such as
// "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", or "" if there is none. The span in it
// is the span of the call itself.
//
// A component uses the traceparent as the parent of its own spans and may send it to services that
// it calls. The last digit of the traceparent is 1 if the kernel's own spans are exported to a
// collector, else 0.
func TraceParent(ctx context.Context) string {
	parent, _ := ctx.Value(traceParentKey{}).(string)
	return parent
}

// WithTraceParent returns ctx with the traceparent of a call, for the caller of a component. A text
// that is not a traceparent of version 00 is ignored.
func WithTraceParent(ctx context.Context, parent string) context.Context {
	if !validTraceParent(parent) {
		return ctx
	}
	return context.WithValue(ctx, traceParentKey{}, parent)
}

// validTraceParent reports whether text is a traceparent of version 00: version, trace, span and
// flags in lower-case hex, trace and span not all zero.
func validTraceParent(text string) bool {
	parts := strings.Split(text, "-")
	if len(parts) != 4 || parts[0] != "00" || len(parts[1]) != 32 || len(parts[2]) != 16 || len(parts[3]) != 2 {
		return false
	}
	return !slices.ContainsFunc(parts[1:], func(part string) bool { return strings.Trim(part, "0123456789abcdef") != "" }) &&
		strings.Trim(parts[1], "0") != "" && strings.Trim(parts[2], "0") != ""
}

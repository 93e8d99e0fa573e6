package sdk

import (
	"context"
	"strings"
)

// traceParentKey is that of the trace context in a [context.Context].
type traceParentKey struct{}

// TraceParent is the place of a call in the trace of its run: the traceparent of the W3C trace context, such as
// "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", whose span is that of this very call. It is "" where there is
// none. A component that makes spans of its own takes it for their parent; one that calls services may send it along. Its
// last digit says whether the kernel's own spans are sent to a collector (1) or nobody asked for that (0).
func TraceParent(ctx context.Context) string {
	parent, _ := ctx.Value(traceParentKey{}).(string)
	return parent
}

// WithTraceParent is ctx with the place of a call in a trace, for whoever calls a component. What is no traceparent of
// version 00 changes nothing.
func WithTraceParent(ctx context.Context, parent string) context.Context {
	if !validTraceParent(parent) {
		return ctx
	}
	return context.WithValue(ctx, traceParentKey{}, parent)
}

// validTraceParent holds a text against the format: version, trace, span and flags in lower-case hex, trace and span not
// all zero.
func validTraceParent(text string) bool {
	parts := strings.Split(text, "-")
	if len(parts) != 4 || parts[0] != "00" || len(parts[1]) != 32 || len(parts[2]) != 16 || len(parts[3]) != 2 {
		return false
	}
	for _, part := range parts[1:] {
		if strings.Trim(part, "0123456789abcdef") != "" {
			return false
		}
	}
	return strings.Trim(parts[1], "0") != "" && strings.Trim(parts[2], "0") != ""
}

package wire

import (
	"context"

	"google.golang.org/grpc/metadata"

	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
)

// traceParent is the key of the trace context in a call's metadata, as W3C names it.
const traceParent = "traceparent"

// Outgoing puts the place of a call in its trace into the metadata that travels with it.
func Outgoing(ctx context.Context) context.Context {
	if parent := sdk.TraceParent(ctx); parent != "" {
		return metadata.AppendToOutgoingContext(ctx, traceParent, parent)
	}
	return ctx
}

// Incoming takes it out again at the other end. One that is not valid, or there twice, is as good as none.
func Incoming(ctx context.Context) context.Context {
	if all := metadata.ValueFromIncomingContext(ctx, traceParent); len(all) == 1 {
		return sdk.WithTraceParent(ctx, all[0])
	}
	return ctx
}

package wire_test

import (
	"testing"

	"google.golang.org/grpc/metadata"

	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/internal/wire"
)

// U228: the place of a call in its trace travels in the call's metadata, as W3C names it; what is no such place, or is there
// twice, does not arrive.
func TestTraceParent(t *testing.T) {
	const parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
	sent, _ := metadata.FromOutgoingContext(wire.Outgoing(sdk.WithTraceParent(t.Context(), parent)))
	for _, tt := range []struct {
		name string
		md   metadata.MD
		want string
	}{
		{"sent", sent, parent},
		{"named as W3C does", metadata.Pairs("traceparent", parent), parent},
		{"none", nil, ""},
		{"nonsense", metadata.Pairs("traceparent", "x"), ""},
		{"twice", metadata.Pairs("traceparent", parent, "traceparent", parent), ""},
	} {
		if got := sdk.TraceParent(wire.Incoming(metadata.NewIncomingContext(t.Context(), tt.md))); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
	if _, has := metadata.FromOutgoingContext(wire.Outgoing(t.Context())); has {
		t.Error("a call of no trace has metadata")
	}
}

package sdk_test

import (
	"testing"

	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
)

// U228: an invalid traceparent is ignored.
func TestTraceParent(t *testing.T) {
	const valid = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
	ctx := sdk.WithTraceParent(t.Context(), valid)
	if got := sdk.TraceParent(ctx); got != valid {
		t.Errorf("got %q", got)
	}
	for _, text := range []string{
		"", "x", "00", "01" + valid[2:], valid + "-x", valid[:54], "00-0AF7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
		"00-00000000000000000000000000000000-b7ad6b7169203331-01", "00-0af7651916cd43dd8448eb211c80319c-0000000000000000-01",
	} {
		if got := sdk.TraceParent(sdk.WithTraceParent(t.Context(), text)); got != "" {
			t.Errorf("%q was accepted", text)
		}
	}
}

// An accepted traceparent is kept unchanged.
func FuzzTraceParent(f *testing.F) {
	f.Add("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01")
	f.Add("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331")
	f.Fuzz(func(t *testing.T, text string) {
		if got := sdk.TraceParent(sdk.WithTraceParent(t.Context(), text)); got != "" && (got != text || len(got) != 55) {
			t.Errorf("%q became %q", text, got)
		}
	})
}

package plugintest_test

import (
	"context"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/plugintest"
)

func TestExchangeAnswers(t *testing.T) {
	refused := errors.New("refused")
	x := &plugintest.Exchange{
		Verdicts: map[string]sdk.Verdict{"2": {Action: sdk.VerdictDeny, Reason: "no"}},
		Default:  sdk.Verdict{Action: sdk.VerdictSkip},
		OnCall: func(c sdk.ToolCall) error {
			if c.CallID == "3" {
				return refused
			}
			return nil
		},
	}
	want := map[string]sdk.Verdict{
		"1": {CallID: "1", Action: sdk.VerdictSkip},
		"2": {CallID: "2", Action: sdk.VerdictDeny, Reason: "no"},
	}
	for id, verdict := range want {
		got, err := x.Call(t.Context(), sdk.ToolCall{CallID: id})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(verdict, got); diff != "" {
			t.Errorf("call %s (-want +got):\n%s", id, diff)
		}
	}
	if _, err := x.Call(t.Context(), sdk.ToolCall{CallID: "3"}); !errors.Is(err, refused) {
		t.Errorf("got %v, want the error of OnCall", err)
	}
	if got := len(x.Record().Calls); got != 3 {
		t.Errorf("%d calls recorded, want 3", got)
	}
}

func TestZeroExchangeRunsAndStores(t *testing.T) {
	x := &plugintest.Exchange{}
	verdict, err := x.Call(t.Context(), sdk.ToolCall{CallID: "1"})
	if err != nil || verdict.Action != sdk.VerdictRun {
		t.Errorf("got %+v, %v, want run", verdict, err)
	}
	if err := x.Checkpoint(t.Context(), sdk.Checkpoint{Turn: 1, Blob: []byte("x")}); err != nil {
		t.Error(err)
	}
	over, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := x.Call(over, sdk.ToolCall{CallID: "2"}); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want the end of the context", err)
	}
	if err := x.Checkpoint(over, sdk.Checkpoint{}); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want the end of the context", err)
	}
}

func TestRecordJoinsOneStream(t *testing.T) {
	x := &plugintest.Exchange{}
	for _, c := range []sdk.OutputChunk{{Stream: "text", Text: "a"}, {Stream: "raw", Text: "x"}, {Stream: "text", Text: "b"}} {
		x.Output(c)
	}
	if got := x.Record().Text(sdk.StreamText); got != "ab" {
		t.Errorf("got %q", got)
	}
}

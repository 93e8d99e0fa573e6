package plugintest_test

import (
	"context"
	"errors"
	"testing"

	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/plugintest"
)

func TestExchange(t *testing.T) {
	x := &plugintest.Exchange{}
	if got, err := x.Call(t.Context(), sdk.ToolCall{CallID: "1"}); err != nil || got.Action != sdk.VerdictRun || got.CallID != "1" {
		t.Errorf("got %+v, %v", got, err)
	}
	over, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := x.Call(over, sdk.ToolCall{CallID: "2"})
	if stored := x.Checkpoint(over, sdk.Checkpoint{}); !errors.Is(err, context.Canceled) || !errors.Is(stored, context.Canceled) {
		t.Errorf("after the end of the context: %v, %v", err, stored)
	}
}

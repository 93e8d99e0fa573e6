package firing

import (
	"testing"
	"time"

	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
)

func TestLimit(t *testing.T) {
	if got := Limit(sdk.HookRequest{}, time.Minute); got != time.Minute {
		t.Errorf("without a timeout: %s", got)
	}
	if got := Limit(sdk.HookRequest{Timeout: time.Second}, time.Minute); got != time.Second {
		t.Errorf("with a timeout of 1s: %s", got)
	}
}

package codex

import (
	"encoding/json"
	"strings"
	"testing"

	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/plugintest"
)

func TestConformance(t *testing.T) {
	plugintest.Provider(t, plugintest.ProviderConfig{
		New:     func(tb testing.TB) sdk.Provider { return fake(tb) },
		Normal:  plugintest.Case{Prompt: "hello", Environment: map[string]string{"FAKE_STDOUT": "hello"}},
		Slow:    plugintest.Case{Prompt: "hello", Environment: map[string]string{"FAKE_STDOUT": "wait\n", "FAKE_HANG": "1"}},
		Large:   plugintest.Case{Prompt: strings.Repeat("x", 5<<20), Environment: map[string]string{"FAKE_ECHO": "1"}},
		Refused: []json.RawMessage{json.RawMessage(`{"models": "gpt"}`), json.RawMessage(`{"reasoning_effort": "none at all"}`)},
	})
}

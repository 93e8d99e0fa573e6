package codex

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/plugintest"
)

func TestConformance(t *testing.T) {
	tools, err := filepath.Abs("testdata/tools.jsonl") // what the traits claim is in there
	if err != nil {
		t.Fatal(err)
	}
	plugintest.Provider(t, plugintest.ProviderConfig{
		New:     func(tb testing.TB) sdk.Provider { return fake(tb) },
		Normal:  plugintest.Case{Prompt: "hello", Environment: map[string]string{"FAKE_STREAM": tools}},
		Slow:    plugintest.Case{Prompt: "hello", Environment: map[string]string{"FAKE_STDOUT": "wait\n", "FAKE_HANG": "1"}},
		Large:   plugintest.Case{Prompt: strings.Repeat("x", 5<<20), Environment: map[string]string{"FAKE_ECHO": "1"}},
		Refused: []json.RawMessage{json.RawMessage(`{"models": "gpt"}`), json.RawMessage(`{"reasoning_effort": "none at all"}`)},
	})
}

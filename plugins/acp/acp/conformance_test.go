package acp

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/plugintest"
)

func TestConformance(t *testing.T) {
	full, err := filepath.Abs("testdata/full.json")
	if err != nil {
		t.Fatal(err)
	}
	hello := play(t, `{"turns":[{"steps":[{"say":"hello"}]}]}`, "")
	plugintest.Provider(t, plugintest.ProviderConfig{
		New:    func(testing.TB) sdk.Provider { return provider() },
		Normal: plugintest.Case{Prompt: "hello", Config: hello},
		Slow:   plugintest.Case{Prompt: "hello", Config: play(t, `{"turns":[{"steps":[{"spawn":"child"},{"say":"wait"},{"await":true}]}]}`, "")},
		Large:  plugintest.Case{Prompt: strings.Repeat("x", 5<<20), Config: play(t, `{"turns":[{"steps":[{"echo":true}]}]}`, "")},
		Full:   &plugintest.Case{Prompt: "hello", Config: playFile(t, full, "")},
		Refused: []json.RawMessage{
			json.RawMessage(`{}`), json.RawMessage(`{"agent":"cloude"}`), json.RawMessage(`{"command":"agent"}`), json.RawMessage(`{"command":[""]}`),
			json.RawMessage(`{"agent":"claude","permissions":"sometimes"}`), json.RawMessage(`{"agent":"claude","config_options":{"x":1}}`),
		},
	})
}

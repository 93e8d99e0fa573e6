package main

import (
	"encoding/json"
	"strings"
	"testing"

	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/plugintest"
)

func TestConformance(t *testing.T) {
	plugintest.Provider(t, plugintest.ProviderConfig{
		New:     func(testing.TB) sdk.Provider { return echo{} },
		Normal:  plugintest.Case{Prompt: "hello"},
		Slow:    plugintest.Case{Prompt: "hello", Config: json.RawMessage(`{"delay_ms": 600000}`)},
		Large:   plugintest.Case{Prompt: strings.Repeat("x", 5<<20)},
		Refused: []json.RawMessage{json.RawMessage(`{"delay_ms": "long"}`)},
	})
}

package claude

import (
	"encoding/json"
	"flag"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/goleak"

	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/plugintest"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/plugintest/clitest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// fake returns a provider whose PATH has a fake named claude and the system's programs.
func fake(tb testing.TB) *Provider {
	tb.Helper()
	env := clitest.CLI{Name: "claude", Version: "9.8.7 (Claude Code)"}.Environ(tb)
	return New(func() []string { return env })
}

func TestConformance(t *testing.T) {
	tools, err := filepath.Abs("testdata/tools.jsonl") // covers the claimed traits
	if err != nil {
		t.Fatal(err)
	}
	plugintest.Provider(t, plugintest.ProviderConfig{
		New:     func(tb testing.TB) sdk.Provider { return fake(tb) },
		Normal:  plugintest.Case{Prompt: "hello", Environment: map[string]string{"FAKE_STREAM": tools}},
		Slow:    plugintest.Case{Prompt: "hello", Environment: map[string]string{"FAKE_STDOUT": "wait\n", "FAKE_HANG": "1"}},
		Large:   plugintest.Case{Prompt: strings.Repeat("x", 5<<20), Environment: map[string]string{"FAKE_ECHO": "1"}},
		Refused: []json.RawMessage{json.RawMessage(`{"max_turns": -1}`), json.RawMessage(`{"no_such_key": 1}`)},
	})
}

var update = flag.Bool("update", false, "rewrite the golden files")

// TestStreams replays streams of Claude Code, recorded from version 2.1.329 except subagent, noise and cut.
func TestStreams(t *testing.T) {
	clitest.Streams{
		New: func(tb testing.TB) sdk.Provider { return fake(tb) },
		ExitCodes: map[string]int{
			"login": 1, "limited": 1, "overloaded": 1, "no_model": 1, "bad_request": 1, "max_turns": 1, "budget": 1,
			"refusal": 1, "output_limit": 1, "forbidden": 1, "billing": 1,
		},
		Update: *update,
	}.Run(t)
}

package acp

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/plugintest"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/plugintest/clitest"
	"github.com/dodo-digital/agent-pipelines/plugins/acp/internal/fakeagent"
)

// playVariable makes the test binary run as the fake agent.
const playVariable = "ACP_TEST_PLAY"

func TestMain(m *testing.M) {
	if os.Getenv(playVariable) != "" {
		fakeagent.Main(os.Exit)
	}
	goleak.VerifyTestMain(m)
}

// environ returns a minimal environment for agents.
func environ() []string {
	return []string{playVariable + "=1", "PATH=/usr/bin:/bin", "GORACE=atexit_sleep_ms=0"}
}

// provider returns the provider for any agent, which runs the fake agent.
func provider() *Provider { return New("", environ) }

// scriptConfig returns the configuration for an agent with a script. more holds further members, as `,"mode":"x"`.
func scriptConfig(tb testing.TB, script, more string) json.RawMessage {
	tb.Helper()
	path := filepath.Join(tb.TempDir(), "script.json")
	check(tb, os.WriteFile(path, []byte(script), 0o644))
	return fileConfig(tb, path, more)
}

func fileConfig(tb testing.TB, path, more string) json.RawMessage {
	tb.Helper()
	self := must(os.Executable())
	command := must(json.Marshal([]string{self, path}))
	return json.RawMessage(`{"command":` + string(command) + more + `}`)
}

// runAttempt runs an attempt with a script.
func runAttempt(t *testing.T, script, more string, change func(*sdk.ExecuteRequest)) (sdk.ExecuteResult, *plugintest.Exchange, error) {
	t.Helper()
	x := &plugintest.Exchange{}
	result, err := execute(t, x, script, more, change)
	return result, x, err
}

func execute(t *testing.T, x *plugintest.Exchange, script, more string, change func(*sdk.ExecuteRequest)) (sdk.ExecuteResult, error) {
	t.Helper()
	req := clitest.Request(t, nil)
	req.Prompt, req.Config, req.Grace, req.Timeout = "do it", scriptConfig(t, script, more), 20*time.Second, time.Minute
	if change != nil {
		change(&req)
	}
	return provider().Execute(t.Context(), req, x)
}

func TestConformance(t *testing.T) {
	full := must(filepath.Abs("testdata/full.json"))
	hello := scriptConfig(t, `{"turns":[{"steps":[{"say":"hello"}]}]}`, "")
	plugintest.Provider(t, plugintest.ProviderConfig{
		New:    func(testing.TB) sdk.Provider { return provider() },
		Normal: plugintest.Case{Prompt: "hello", Config: hello},
		Slow:   plugintest.Case{Prompt: "hello", Config: scriptConfig(t, `{"turns":[{"steps":[{"spawn":"child"},{"say":"wait"},{"await":true}]}]}`, "")},
		Large:  plugintest.Case{Prompt: strings.Repeat("x", 5<<20), Config: scriptConfig(t, `{"turns":[{"steps":[{"echo":true}]}]}`, "")},
		Full:   &plugintest.Case{Prompt: "hello", Config: fileConfig(t, full, "")},
		Refused: []json.RawMessage{
			json.RawMessage(`{}`), json.RawMessage(`{"agent":"cloude"}`), json.RawMessage(`{"command":"agent"}`), json.RawMessage(`{"command":[""]}`),
			json.RawMessage(`{"agent":"claude","permissions":"sometimes"}`), json.RawMessage(`{"agent":"claude","config_options":{"x":1}}`),
		},
	})
}

// must returns v, or panics with err.
func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// check ends the test if err is not nil.
func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// compare reports how got differs from want.
func compare[T any](t testing.TB, want, got T, options ...cmp.Option) {
	t.Helper()
	if diff := cmp.Diff(want, got, options...); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

package acp

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
	"time"

	"go.uber.org/goleak"

	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/plugintest"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/plugintest/clitest"
	"github.com/dodo-digital/agent-pipelines/plugins/acp/internal/fakeagent"
)

// playVariable makes the test binary play the fake agent.
const playVariable = "ACP_TEST_PLAY"

func TestMain(m *testing.M) {
	if os.Getenv(playVariable) != "" {
		fakeagent.Main(os.Exit)
	}
	goleak.VerifyTestMain(m)
}

// environ is what agents start from: hardly anything.
func environ() []string {
	return []string{playVariable + "=1", "PATH=/usr/bin:/bin", "GORACE=atexit_sleep_ms=0"}
}

// provider takes any agent, the fake one too.
func provider() *Provider { return New("", environ) }

// play is the configuration of an agent that does what a script says. More members of the configuration may
// follow, as `,"mode":"x"`.
func play(tb testing.TB, script, more string) json.RawMessage {
	tb.Helper()
	path := filepath.Join(tb.TempDir(), "script.json")
	if err := os.WriteFile(path, []byte(script), 0o644); err != nil {
		tb.Fatal(err)
	}
	return playFile(tb, path, more)
}

func playFile(tb testing.TB, path, more string) json.RawMessage {
	tb.Helper()
	self, err := os.Executable()
	if err != nil {
		tb.Fatal(err)
	}
	command, err := json.Marshal([]string{self, path})
	if err != nil {
		tb.Fatal(err)
	}
	return json.RawMessage(`{"command":` + string(command) + more + `}`)
}

// attemptOf makes an attempt with a script.
func attemptOf(t *testing.T, script, more string, change func(*sdk.ExecuteRequest)) (sdk.ExecuteResult, *plugintest.Exchange, error) {
	t.Helper()
	x := &plugintest.Exchange{}
	result, err := execute(t, x, script, more, change)
	return result, x, err
}

func execute(t *testing.T, x *plugintest.Exchange, script, more string, change func(*sdk.ExecuteRequest)) (sdk.ExecuteResult, error) {
	t.Helper()
	req := clitest.Request(t, nil)
	req.Prompt, req.Config, req.Grace, req.Timeout = "do it", play(t, script, more), 20*time.Second, time.Minute
	if change != nil {
		change(&req)
	}
	return provider().Execute(t.Context(), req, x)
}

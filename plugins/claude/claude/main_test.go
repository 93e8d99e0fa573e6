package claude

import (
	"testing"

	"go.uber.org/goleak"

	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/plugintest/clitest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// fake is a provider that finds a stand-in as claude, and nothing else but the system's programs.
func fake(tb testing.TB) *Provider {
	tb.Helper()
	env := clitest.CLI{Name: "claude", Version: "9.8.7 (Claude Code)"}.Environ(tb)
	return New(func() []string { return env })
}

// request is an attempt with these variables for the stand-in.
func request(t *testing.T, env map[string]string) sdk.ExecuteRequest {
	t.Helper()
	return clitest.Request(t, env)
}

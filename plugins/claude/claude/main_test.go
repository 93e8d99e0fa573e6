package claude

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/dodo-digital/agent-pipelines/plugin-sdk/plugintest/clitest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// fake is a provider that finds a stand-in as claude, and nothing else but the system's programs.
func fake(tb testing.TB) *Provider {
	tb.Helper()
	env := clitest.CLI{Name: "claude", Version: "9.8.7 (Claude Code)"}.Environ(tb)
	return New(func() []string { return env })
}

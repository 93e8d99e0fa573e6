package codex

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/dodo-digital/agent-pipelines/plugin-sdk/plugintest/clitest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// fake is a provider that finds a stand-in as codex, and nothing else but the system's programs.
func fake(tb testing.TB) *Provider {
	tb.Helper()
	env := clitest.CLI{Name: "codex", Version: "codex-cli 9.8.7"}.Environ(tb)
	return New(func() []string { return env })
}

package codex

import (
	"flag"
	"testing"

	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/plugintest/clitest"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// TestStreams plays streams of Codex, recorded from version 0.169.0 except tools_of_docs, noise and cut.
func TestStreams(t *testing.T) {
	clitest.Streams{
		New: func(tb testing.TB) sdk.Provider { return fake(tb) },
		ExitCodes: map[string]int{
			"login": 1, "limited": 1, "quota": 1, "overloaded": 1, "no_model": 1, "context": 1, "capacity": 1, "nokey": 1, "cut": 1,
		},
		Update: *update,
	}.Run(t)
}

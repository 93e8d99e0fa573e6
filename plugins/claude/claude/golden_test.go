package claude

import (
	"flag"
	"testing"

	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/plugintest/clitest"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// TestStreams plays streams of Claude Code, recorded from version 2.1.329 except subagent, noise and cut.
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

package sandbox_test

import (
	"os"
	"testing"

	"go.uber.org/goleak"

	"github.com/dodo-digital/agent-pipelines/plugin-sdk/confine"
)

// built is the directory of the plugin that the tests built, "" for none yet.
var built string

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == confine.Verb {
		os.Exit(confine.Main(os.Args[2:]))
	}
	if dir := os.Getenv(hostVariable); dir != "" {
		os.Exit(beHost(dir))
	}
	goleak.VerifyTestMain(m, goleak.Cleanup(func(code int) {
		_ = os.RemoveAll(built)
		os.Exit(code)
	}))
}

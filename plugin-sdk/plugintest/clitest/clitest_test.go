package clitest_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/goleak"

	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/cliagent"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/plugintest/clitest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// plain is a minimal provider that runs a command line.
type plain struct{ env []string }

func (p plain) Describe() sdk.Component { return sdk.Component{Name: "plain"} }

func (p plain) Execute(ctx context.Context, req sdk.ExecuteRequest, x sdk.Exchange) (sdk.ExecuteResult, error) {
	env := cliagent.Environ(p.env, req.Environment)
	path, err := cliagent.Lookup("plain", "plain", "", env)
	if err != nil {
		return sdk.ExecuteResult{}, err
	}
	end, err := cliagent.Run(ctx, cliagent.Command{Name: "plain", Path: path, Dir: req.WorkDir, Env: env, Stdin: req.Prompt, Exchange: x})
	return sdk.ExecuteResult{ExitCode: end.ExitCode}, err
}

func newPlain(tb testing.TB) plain {
	return plain{env: clitest.CLI{Name: "plain", Version: "1.2.3"}.Environ(tb)}
}

func TestStreamsWritesAndCompares(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "one.jsonl"), []byte("{\"type\":\"x\"}\nno event"), 0o644); err != nil {
		t.Fatal(err)
	}
	streams := clitest.Streams{
		New: func(tb testing.TB) sdk.Provider { return newPlain(tb) },
		Dir: dir, ExitCodes: map[string]int{"one": 4}, Update: true,
	}
	streams.Run(t)
	golden, err := os.ReadFile(filepath.Join(dir, "one.golden"))
	if err != nil || !strings.Contains(string(golden), `"ExitCode": 4`) {
		t.Fatalf("%v: %s", err, golden)
	}
	streams.Update = false
	streams.Run(t)
}

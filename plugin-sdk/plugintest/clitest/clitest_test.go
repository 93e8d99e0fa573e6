package clitest_test

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
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
	end, err := p.run(ctx, req, x)
	return sdk.ExecuteResult{ExitCode: end.ExitCode, Output: end.Stderr}, err
}

func (p plain) run(ctx context.Context, req sdk.ExecuteRequest, x sdk.Exchange) (cliagent.End, error) {
	env := cliagent.Environ(p.env, req.Environment)
	path, err := cliagent.Lookup("plain", "plain", "", env)
	if err != nil {
		return cliagent.End{}, err
	}
	return cliagent.Run(ctx, cliagent.Command{
		Name: "plain", Path: path, Args: []string{"one", "two words"}, Dir: req.WorkDir, Env: env, Stdin: req.Prompt, Exchange: x,
	})
}

func newPlain(tb testing.TB) plain {
	return plain{env: clitest.CLI{Name: "plain", Version: "1.2.3"}.Environ(tb)}
}

func TestStandIn(t *testing.T) {
	tests := []struct {
		name           string
		env            map[string]string
		exit           int
		signal         syscall.Signal
		stdout, stderr string
	}{
		{"does nothing", nil, 0, 0, "", ""},
		{"prints", map[string]string{"FAKE_STDOUT": "a\\n%s", "FAKE_STDERR": "b\\n"}, 0, 0, "a\\n%s", "b\\n"},
		{"echoes", map[string]string{"FAKE_ECHO": "1"}, 0, 0, "do it", ""},
		{"exits", map[string]string{"FAKE_EXIT": "7"}, 7, 0, "", ""},
		{"is killed", map[string]string{"FAKE_SIGNAL": "KILL"}, -1, syscall.SIGKILL, "", ""},
		{"runs commands", map[string]string{"FAKE_SHELL": "echo one; exit 3"}, 3, 0, "one\n", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var stdout strings.Builder
			x := printed{into: &stdout}
			end, err := newPlain(t).run(t.Context(), clitest.Request(t, tt.env), x)
			if err != nil {
				t.Fatal(err)
			}
			if end.ExitCode != tt.exit || end.Signal != tt.signal || end.Stderr != tt.stderr || stdout.String() != tt.stdout {
				t.Errorf("end %+v, stdout %q", end, stdout.String())
			}
		})
	}
}

// printed collects stdout.
type printed struct {
	sdk.Exchange
	into *strings.Builder
}

func (p printed) Output(c sdk.OutputChunk) {
	if c.Stream == sdk.StreamRaw {
		p.into.WriteString(c.Text)
	}
}

func TestReadCall(t *testing.T) {
	dir := t.TempDir()
	req := clitest.Request(t, map[string]string{"FAKE_DIR": dir, "MORE": "yes"})
	if _, err := newPlain(t).Execute(t.Context(), req, nil); err != nil {
		t.Fatal(err)
	}
	call := clitest.ReadCall(t, dir)
	if !slices.Equal(call.Args, []string{"one", "two words"}) || call.Prompt != "do it" || call.WorkDir != req.WorkDir {
		t.Errorf("call %+v", call)
	}
	if !slices.Contains(call.Env, "MORE=yes") || slices.ContainsFunc(call.Env, func(kv string) bool { return strings.HasPrefix(kv, "PLUGIN_") }) {
		t.Errorf("environment %q", call.Env)
	}
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

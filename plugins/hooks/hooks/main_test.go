package hooks

import (
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"go.uber.org/goleak"

	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// quiet is a runner with a small environment whose log goes nowhere.
func quiet(t testing.TB, env ...string) *runner {
	env = append([]string{"PATH=" + os.Getenv("PATH")}, env...)
	return &runner{environ: func() []string { return env }, tempDir: t.TempDir(), log: io.Discard}
}

// firing is a request with a configuration, in a directory with the files.
func firing(t testing.TB, config string, files map[string]string) sdk.HookRequest {
	t.Helper()
	dir := t.TempDir()
	for name, content := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		mode := fs.FileMode(0o644)
		if strings.HasPrefix(content, "#!") {
			mode = 0o755
		}
		if err := os.WriteFile(path, []byte(content), mode); err != nil {
			t.Fatal(err)
		}
	}
	return sdk.HookRequest{
		Key: "hook:1/v1/r1/-/-/i2#1", Point: sdk.IterationEnd, Session: "auth", Node: "build", Stage: "improve", Iteration: 2,
		Provider: "claude", Status: "running", Summary: "did things", Context: "so far", Message: "look", Config: json.RawMessage(config), WorkDir: dir,
	}
}

// says checks kind and words of a failure; kind "" wants none.
func says(t *testing.T, err error, kind failure.Kind, words ...string) {
	t.Helper()
	if kind == "" {
		if err != nil {
			t.Errorf("error %v, want none", err)
		}
		return
	}
	var f *failure.Error
	if !errors.As(err, &f) || f.Kind != kind {
		t.Fatalf("error %v of kind %q, want %s", err, failure.KindOf(err), kind)
	}
	if f.Hint == "" && kind != failure.SignalInterrupt && kind != failure.ConfigInvalid {
		t.Errorf("%v: no hint", f)
	}
	for _, w := range words {
		if !strings.Contains(f.Message+"\n"+f.Detail, w) {
			t.Errorf("%q with detail %q does not say %q", f.Message, f.Detail, w)
		}
	}
}

func mkfifo(path string) error { return syscall.Mkfifo(path, 0o600) }

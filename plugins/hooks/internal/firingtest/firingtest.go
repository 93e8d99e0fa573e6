package firingtest

import (
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
	"github.com/dodo-digital/agent-pipelines/plugins/hooks/internal/firing"
)

// Runner returns a runner with a minimal environment and without a log.
func Runner(t testing.TB, env ...string) *firing.Runner {
	env = append([]string{"PATH=" + os.Getenv("PATH")}, env...)
	return &firing.Runner{Environ: func() []string { return env }, TempDir: t.TempDir(), Log: io.Discard}
}

// Request returns a request with a configuration, in a new directory with the files; a file that begins with "#!"
// is executable.
func Request(t testing.TB, config string, files map[string]string) sdk.HookRequest {
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

// CheckError checks the kind of a failure and that its message or detail contains the texts; kind "" wants no
// error.
func CheckError(t *testing.T, err error, kind failure.Kind, texts ...string) {
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
	for _, text := range texts {
		if !strings.Contains(f.Message+"\n"+f.Detail, text) {
			t.Errorf("%q with detail %q does not contain %q", f.Message, f.Detail, text)
		}
	}
}

// Configs returns texts as the configurations of a conformance test.
func Configs(texts ...string) []json.RawMessage {
	var list []json.RawMessage
	for _, t := range texts {
		list = append(list, json.RawMessage(t))
	}
	return list
}

// Validate checks which configurations the action accepts. A case is a configuration and a part of the error
// that rejects it, "" for a configuration that is accepted.
func Validate(t *testing.T, action sdk.Validator, cases [][2]string) {
	t.Helper()
	for _, tt := range cases {
		config, message := tt[0], tt[1]
		err := action.Validate(t.Context(), sdk.ValidateRequest{Config: json.RawMessage(config)})
		switch {
		case message == "" && err != nil:
			t.Errorf("%s: refused: %v", config, err)
		case message != "" && failure.KindOf(err) != failure.ConfigInvalid:
			t.Errorf("%s: error %v of kind %q, want config_invalid", config, err, failure.KindOf(err))
		case message != "" && !strings.Contains(err.Error(), message):
			t.Errorf("%s: %q does not contain %q", config, err, message)
		}
	}
}

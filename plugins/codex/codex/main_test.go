package codex

import (
	"os"
	"path/filepath"
	"testing"

	"go.uber.org/goleak"

	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// fake is a provider that finds testdata/fake-codex as codex, and nothing else but the system's programs.
func fake(tb testing.TB) *Provider {
	tb.Helper()
	script, err := filepath.Abs("testdata/fake-codex")
	if err != nil {
		tb.Fatal(err)
	}
	bin := tb.TempDir()
	if err := os.Symlink(script, filepath.Join(bin, "codex")); err != nil {
		tb.Fatal(err)
	}
	env := []string{"PATH=" + bin + ":/usr/bin:/bin", "HOME=" + bin, "PLUGIN_MIN_PORT=1"}
	return New(func() []string { return env })
}

// request is an attempt with these variables for the stand-in.
func request(t *testing.T, env map[string]string) sdk.ExecuteRequest {
	t.Helper()
	return sdk.ExecuteRequest{Prompt: "do it", WorkDir: t.TempDir(), Environment: env, Purpose: sdk.PurposeWork}
}

package clitest

import (
	_ "embed"
	"os"
	"path/filepath"
	"strings"
	"testing"

	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
)

//go:embed agent.sh
var script []byte

// CLI is a stand-in for an agent's command line.
type CLI struct {
	// Name is the name of the command.
	Name string
	// Version is what it prints for --version.
	Version string
}

// Environ installs the stand-in in a directory of the test and returns an environment in which it is
// found, and nothing else but the system's programs. HOME is empty but for the stand-in. A variable of
// the plugin handshake is in it, which the agent must not get to see.
func (c CLI) Environ(tb testing.TB) []string {
	tb.Helper()
	bin := tb.TempDir()
	if err := os.WriteFile(filepath.Join(bin, c.Name), script, 0o755); err != nil {
		tb.Fatal(err)
	}
	return []string{"PATH=" + bin + ":/usr/bin:/bin", "HOME=" + bin, "FAKE_VERSION=" + c.Version, "PLUGIN_MIN_PORT=1"}
}

// Request is an attempt to work in an empty directory with these variables for the stand-in.
func Request(tb testing.TB, env map[string]string) sdk.ExecuteRequest {
	tb.Helper()
	return sdk.ExecuteRequest{Prompt: "do it", WorkDir: tb.TempDir(), Environment: env, Purpose: sdk.PurposeWork}
}

// Call is how the stand-in was called.
type Call struct {
	Args    []string
	Prompt  string   // its stdin
	Env     []string // "key=value"
	WorkDir string
}

// ReadCall reads what the stand-in noted in FAKE_DIR, of the last call.
func ReadCall(tb testing.TB, dir string) Call {
	tb.Helper()
	read := func(name string) string {
		text, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			tb.Fatal(err)
		}
		return string(text)
	}
	lines := func(name string) []string { return strings.Split(strings.TrimSuffix(read(name), "\n"), "\n") }
	return Call{Args: lines("args"), Prompt: read("prompt"), Env: lines("env"), WorkDir: lines("pwd")[0]}
}

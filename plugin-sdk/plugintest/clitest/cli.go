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

// CLI is a fake of an agent's command line: a shell script that takes any arguments. Variables of its environment,
// usually of the request, select its actions, in this order:
//
//	FAKE_VERSION  printed for --version, and nothing else is done then; set by Environ
//	FAKE_DIR      a directory in which it records its call, see ReadCall
//	FAKE_ECHO     not empty: it prints its stdin (unless FAKE_DIR is set)
//	FAKE_STDERR   a text for stderr; a newline is added
//	FAKE_STDOUT   a text for stdout
//	FAKE_STREAM   a file whose content goes to stdout
//	FAKE_HANG     not empty: it does not end
//	FAKE_SIGNAL   the name of a signal that it sends itself ("KILL")
//	FAKE_EXIT     its exit code; default 0
type CLI struct {
	// Name is the name of the command.
	Name string
	// Version is the output for --version.
	Version string
}

// Environ installs the fake in a directory of the test. It returns an environment with the fake,
// the system's programs and an otherwise empty HOME. The environment also contains a variable of the
// plugin handshake, which must not reach the agent.
func (c CLI) Environ(tb testing.TB) []string {
	tb.Helper()
	bin := tb.TempDir()
	if err := os.WriteFile(filepath.Join(bin, c.Name), script, 0o755); err != nil {
		tb.Fatal(err)
	}
	return []string{"PATH=" + bin + ":/usr/bin:/bin", "HOME=" + bin, "FAKE_VERSION=" + c.Version, "PLUGIN_MIN_PORT=1"}
}

// Request returns a request for work in an empty directory, with environment variables for the
// fake.
func Request(tb testing.TB, env map[string]string) sdk.ExecuteRequest {
	tb.Helper()
	return sdk.ExecuteRequest{Prompt: "do it", WorkDir: tb.TempDir(), Environment: env, Purpose: sdk.PurposeWork}
}

// Call is a recorded call of the fake.
type Call struct {
	Args    []string
	Prompt  string   // stdin
	Env     []string // "key=value"
	WorkDir string
}

// ReadCall reads the fake's last call from dir, which was the fake's FAKE_DIR.
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

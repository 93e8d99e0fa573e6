package check

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
)

// Without network, a declared package that is not installed is no failure of a test. The outputs are those of the programs.
func TestMissingPackage(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"package.json":         `{"dependencies": {"left-pad": "1"}, "devDependencies": {"@scope/tool": "1", "vitest": "4"}}`,
		"requirements-dev.txt": "# tools\nPyYAML>=6\npython-dateutil\nrequests[socks]==2\n",
		"pyproject.toml":       "[project]\ndependencies = [\"attrs>=1\", 'sixer']\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	off := []string{"AGENT_PIPELINES_TOOLS_NETWORK=loopback"}
	for output, want := range map[string]string{
		`go: github.com/google/go-cmp@v0.7.0: Get "https://proxy.invalid/github.com/google/go-cmp/@v/v0.7.0.mod": dial tcp: lookup proxy.invalid: no such host`: "github.com/google/go-cmp@v0.7.0 go mod download",
		`n_test.go:8:2: github.com/google/go-cmp@v0.7.0: Get "https://proxy.invalid/x.zip": dial tcp`:                                                           "github.com/google/go-cmp@v0.7.0 go mod download",
		"go: downloading github.com/google/go-cmp v0.7.0\n# example.com/number\nnumber_test.go:8:2: mkdir /h/go/pkg/mod/cache/download: permission denied\n":    "github.com/google/go-cmp go mod download",
		`go: x.io/y@v1.0.0: module lookup disabled by GOPROXY=off`:                                                                                              "x.io/y@v1.0.0 go mod download",
		`Get "http://127.0.0.1:1": dial tcp 127.0.0.1:1: connect: connection refused`:                                                                           "",
		"Error [ERR_MODULE_NOT_FOUND]: Cannot find package 'left-pad' imported from /p/a.mjs":                                                                   "left-pad npm ci",
		"Error: Cannot find module '@scope/tool/sub'":                                                                                                           "@scope/tool npm ci",
		"Cannot find module './slug.mjs'\nCannot find module '/p/slug.mjs'":                                                                                     "",
		"Cannot find package 'unknown'":                          "",
		"sh: 1: vitest: not found":                               "vitest npm ci",
		"bash: line 1: vitest: command not found":                "vitest npm ci",
		"ModuleNotFoundError: No module named 'yaml'":            "yaml pip install -r requirements.txt",
		"ModuleNotFoundError: No module named 'dateutil.parser'": "dateutil pip install -r requirements.txt",
		"ModuleNotFoundError: No module named 'attrs'":           "attrs pip install -e .",
		"ModuleNotFoundError: No module named 'twice'":           "",
	} {
		for _, environ := range [][]string{off, {"AGENT_PIPELINES_TOOLS_NETWORK=on"}, nil} {
			got := ""
			if f := failure.From(missingPackage(environ, root, output)); f != nil {
				name, _, _ := strings.Cut(strings.TrimPrefix(f.Message, "check: "), " ")
				_, command, _ := strings.Cut(f.Hint, "`")
				command, _, _ = strings.Cut(command, "`")
				got = name + " " + command
			}
			if len(environ) == 0 || environ[0] != off[0] {
				if got != "" {
					t.Errorf("%q with the network: %s", output, got)
				}
			} else if got != want {
				t.Errorf("%q: %q, want %q", output, got, want)
			}
		}
	}
}

// FuzzMissingPackage: an error names a command, whatever a manifest and an output hold.
func FuzzMissingPackage(f *testing.F) {
	f.Add(`{"dependencies": {"a": 1}}`, "b>=1\n", "Cannot find package 'a'\nNo module named 'b'")
	f.Add(`[]`, "\x00", "go: a@v1: dial tcp")
	dir := f.TempDir()
	root, err := os.OpenRoot(dir)
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { root.Close() })
	f.Fuzz(func(t *testing.T, node, python, output string) {
		for name, text := range map[string]string{"package.json": node, "requirements.txt": python} {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if f := failure.From(missingPackage([]string{"AGENT_PIPELINES_TOOLS_NETWORK=off"}, root, output)); f != nil && !strings.Contains(f.Hint, "run `") {
			t.Errorf("%v: %s", f, f.Hint)
		}
	})
}

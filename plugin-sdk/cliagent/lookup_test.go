package cliagent

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/internal/wire"
)

func TestLookup(t *testing.T) {
	one, two := t.TempDir(), t.TempDir()
	write := func(dir, name string, mode os.FileMode) string {
		path := filepath.Join(dir, name)
		check(t, os.WriteFile(path, nil, mode))
		return path
	}
	agent := write(two, "agent", 0o755)
	shadow := write(one, "agent", 0o644) // not executable: skipped
	write(t.TempDir(), "project", 0o755)
	env := []string{"PATH=:.:" + one + ":" + two}

	tests := []struct {
		name    string
		command string
		want    string
		kind    failure.Kind
	}{
		{"by name", "agent", agent, ""},
		{"by path", agent, agent, ""},
		{"no such name", "other", "", failure.ProviderMissing},
		{"no such path", filepath.Join(one, "other"), "", failure.ProviderMissing},
		{"path of a file that cannot be run", shadow, "", failure.ProviderMissing},
		{"path of a directory", one, "", failure.ProviderMissing},
		{"relative path", "./agent", "", failure.ConfigInvalid},
		{"path below the project", "bin/agent", "", failure.ConfigInvalid},
		{"empty", "", "", failure.ConfigInvalid},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Chdir(two) // empty and relative entries of PATH must not find the agent here
			got, err := Lookup("fake", tt.command, "npm install -g fake", env)
			if got != tt.want || failure.KindOf(err) != tt.kind {
				t.Errorf("Lookup = %q, %v; want %q, kind %q", got, err, tt.want, tt.kind)
			}
			if tt.kind == failure.ProviderMissing && !strings.Contains(failure.From(err).Hint, "npm install -g fake") {
				t.Errorf("hint = %q does not say how to install it", failure.From(err).Hint)
			}
		})
	}
	if _, err := Lookup("fake", "agent", "x", []string{"PATH=:."}); failure.KindOf(err) != failure.ProviderMissing {
		t.Errorf("a program in the working directory was found: %v", err)
	}
}

func TestEnviron(t *testing.T) {
	base := []string{
		"PATH=/bin", "HOME=/old", "HOME=/h", "EMPTY=", "broken", "PLUGIN_MIN_PORT=1", "PLUGIN_CLIENT_CERT=x",
		wire.CookieKey + "=secret", CallVariable + "=outer", "WITH=a=b", "PLUGINS=kept",
	}
	got := Environ(base, map[string]string{"HOME": "/mine", "NEW": "1", "PLUGIN_UNIX_SOCKET_DIR": "/x"})
	want := []string{"EMPTY=", "HOME=/mine", "NEW=1", "PATH=/bin", "PLUGINS=kept", "WITH=a=b"}
	compare(t, want, got)
}

func TestGetenv(t *testing.T) {
	env := []string{"A=1", "B=x=y", "A=2", "AB=3"}
	for name, want := range map[string]string{"A": "2", "B": "x=y", "C": ""} {
		if got := Getenv(env, name); got != want {
			t.Errorf("Getenv(%s) = %q, want %q", name, got, want)
		}
	}
}

// U190: an absolute path inside the working directory becomes relative to it; a path outside stays
// absolute.
func TestPaths(t *testing.T) {
	dir := t.TempDir()
	link := filepath.Join(t.TempDir(), "link")
	check(t, os.Symlink(dir, link))
	target := must(filepath.EvalSymlinks(dir))
	got := Paths(link, "", link+"/a.go", target+"/sub/../b.go", "a.go", "./c", link, link+"2/x", "/etc/passwd", "../x")
	want := []string{"a.go", "b.go", "c", ".", link + "2/x", "/etc/passwd", "../x"}
	compare(t, want, got)
	if got := Paths(dir); got != nil {
		t.Errorf("none: %q", got)
	}
}

package cliagent

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
)

func TestLookup(t *testing.T) {
	one, two := t.TempDir(), t.TempDir()
	write := func(dir, name string, mode os.FileMode) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, nil, mode); err != nil {
			t.Fatal(err)
		}
		return path
	}
	agent := write(two, "agent", 0o755)
	shadow := write(one, "agent", 0o644) // not executable: passed over
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
			t.Chdir(two) // "" and "." in PATH must not find it here
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

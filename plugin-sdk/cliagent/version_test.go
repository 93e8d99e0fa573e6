package cliagent

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestFindVersion(t *testing.T) {
	tests := map[string]string{
		"2.1.329 (Claude Code)\n":   "2.1.329",
		"codex-cli 0.169.0-alpha.1": "0.169.0-alpha.1",
		"tool v1.2":                 "1.2",
		"no version here":           "",
		"":                          "",
	}
	for line, want := range tests {
		if got := findVersion(line); got != want {
			t.Errorf("findVersion(%q) = %q, want %q", line, got, want)
		}
	}
}

func TestVersionsAsksOncePerFile(t *testing.T) {
	dir := t.TempDir()
	agent := filepath.Join(dir, "agent")
	install := func(version string) {
		script := "#!/bin/sh\necho x >>\"" + dir + "/log\"\necho agent " + version + "\n"
		if err := os.WriteFile(agent+".new", []byte(script), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(agent+".new", agent); err != nil {
			t.Fatal(err)
		}
	}
	var versions Versions
	c := Command{Name: "agent", Path: agent, Dir: dir, Env: Environ(os.Environ(), nil)}
	for _, want := range []string{"1.0.0", "1.0.0", "1.10.0", "1.10.0"} {
		if versions.Of(t.Context(), c) != want {
			install(want)
		}
		if got := versions.Of(t.Context(), c); got != want {
			t.Errorf("version = %q, want %q", got, want)
		}
	}
	log, err := os.ReadFile(filepath.Join(dir, "log"))
	if err != nil {
		t.Fatal(err)
	}
	if asked := strings.Count(string(log), "\n"); asked != 2 {
		t.Errorf("the agent was asked %d times, want once for each version", asked)
	}
}

func TestVersionsWithoutAnswer(t *testing.T) {
	var versions Versions
	c := shell("")
	for name, path := range map[string]string{"does not know the flag": "/bin/sh", "is missing": "/nowhere/agent"} {
		c.Path = path
		if got := versions.Of(t.Context(), c); got != "" {
			t.Errorf("an agent that %s has version %q", name, got)
		}
	}
}

package main

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// The README's commands do what the README says, from an empty directory on, with the mock in place of a model.
func TestREADME(t *testing.T) {
	readme, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	root := t.TempDir()
	agents, err := filepath.Abs("testdata/agent-loop.json") // of the shipped stages; the others answer without it
	if err != nil {
		t.Fatal(err)
	}
	commands := 0
	for line := range strings.Lines(string(readme)) {
		args, found := strings.CutPrefix(strings.TrimSpace(line), "agent-pipelines ")
		if !found || strings.Contains(args, "<") {
			continue
		}
		commands++
		want := 0
		if strings.HasPrefix(args, "resume") { // the run has been completed
			want = int(exitTerminal)
		}
		if code, text := shell(t, root, "MOCK_CONFIG='"+agents+"' agent-pipelines "+args); code != want {
			t.Errorf("agent-pipelines %s: exit %d, want %d\n%s", args, code, want, text)
		}
	}
	if commands != 9 {
		t.Errorf("the README has %d commands, want the five of the first pipeline, the status, the resume, the request and the new plugin", commands)
	}
}

// block is the first fenced block of a language.
func block(t *testing.T, text []byte, language string) []byte {
	t.Helper()
	m := regexp.MustCompile("(?s)```" + language + "\n(.*?)```").FindSubmatch(text)
	if m == nil {
		t.Fatalf("no block of %s", language)
	}
	return m[1]
}

func shell(t *testing.T, dir, line string) (int, string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "sh", "-c", line)
	cmd.Dir = dir
	cmd.Env = []string{
		"PATH=" + filepath.Join(programs, "bin") + ":/usr/bin:/bin", "HOME=" + filepath.Join(dir, "home"), "MOCK_MODE=true", "LANG=C.UTF-8",
	}
	text, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return cmd.ProcessState.ExitCode(), string(text)
}

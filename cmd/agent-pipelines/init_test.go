package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/dodo-digital/agent-pipelines/cmd/agent-pipelines/internal/document"
)

// U082, U290: lint finds no fault in any example of the gallery in a fresh directory, and no warning except in demo. With
// the commands that init prints, each example completes, with mock agents and without a network.
func TestGallery(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	var listed struct {
		Examples []struct{ Name, Shows string }
	}
	decodeText(t, bare(t, home, t.TempDir(), "agent-pipelines init --list --json"), &listed)
	require(t, len(listed.Examples) >= 8, len(listed.Examples))
	for _, e := range listed.Examples {
		t.Run(e.Name, func(t *testing.T) {
			dir := t.TempDir()
			var done document.Project
			decodeText(t, bare(t, home, dir, "agent-pipelines init --json --example "+e.Name), &done)
			for _, file := range done.Written {
				if _, err := os.Stat(filepath.Join(dir, file)); err != nil {
					t.Error(err)
				}
			}
			did := map[string]int{}
			for _, next := range done.Next {
				did[next.Does]++
				if next.Does == "real" || next.Does == "doctor" { // these need an agent
					continue
				}
				text := bare(t, home, dir, next.Line)
				if next.Does == "lint" && e.Name != "demo" && (strings.Contains(text, "WARN") || !strings.Contains(text, "PASS")) {
					t.Errorf("%s:\n%s", next.Line, text)
				}
			}
			require(t, did["lint"] == 1 && did["mock"] == 1 && did["real"] == 1, done.Next)
			var state struct{ Status string }
			readState(t, filepath.Join(dir, ".claude/pipeline-runs/try/state.json"), &state)
			compare(t, "completed", state.Status)
		})
	}
}

// init writes the first pipeline of a project and names next commands that work; a second init overwrites nothing.
func TestInit(t *testing.T) {
	t.Parallel()
	home, dir := t.TempDir(), t.TempDir()
	var done document.Project
	decodeText(t, bare(t, home, dir, "agent-pipelines init --json"), &done)
	for _, next := range done.Next {
		if next.Does != "real" && next.Does != "doctor" {
			bare(t, home, dir, next.Line)
		}
	}
	var again document.Project
	decodeText(t, bare(t, home, dir, "agent-pipelines init --json"), &again)
	require(t, slices.Equal(again.Existing, done.Written) && len(again.Written) == 0, again.Written, again.Existing)
}

// bare runs a command line in a directory with a minimal environment, and returns its output. The command must succeed.
func bare(t *testing.T, home, dir, line string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "sh", "-c", line)
	cmd.Dir = dir
	cmd.Env = []string{"PATH=" + filepath.Join(programs, "bin") + ":/usr/bin:/bin", "HOME=" + home, "LANG=C.UTF-8"}
	var errs strings.Builder
	cmd.Stderr = &errs
	text, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s: %v\n%s%s", line, err, text, errs.String())
	}
	return string(text)
}

func decodeText(t *testing.T, text string, into any) {
	t.Helper()
	err := json.Unmarshal([]byte(text), into)
	require(t, err == nil, err, text)
}

func readState(t *testing.T, file string, into any) {
	t.Helper()
	text := must(os.ReadFile(file))
	decodeText(t, string(text), into)
}

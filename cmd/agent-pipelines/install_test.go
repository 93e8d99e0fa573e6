package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/dodo-digital/agent-pipelines/kernel/event"
)

// U293: the command that one `go install` builds runs the example demo. Our modules come from a release of the working
// tree, in a repository of its own; all other modules come from the module cache.
func TestGoInstall(t *testing.T) {
	t.Parallel()
	bin := published(t).bin
	project, home := t.TempDir(), t.TempDir()
	check(t, os.CopyFS(project, os.DirFS("gallery/demo")))
	run := func(args ...string) string {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), filepath.Join(bin, "agent-pipelines"), args...)
		cmd.Dir = project
		cmd.Env = []string{"HOME=" + home, "PATH=/usr/bin:/bin", "MOCK_CONFIG=.claude/mock.json"}
		text, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("agent-pipelines %s: %v\n%s", strings.Join(args, " "), err, text)
		}
		return string(text)
	}
	got := run("--version")
	require(t, strings.HasPrefix(got, "agent-pipelines "+strings.TrimPrefix(installed, "v")+"\n"), got)
	run("pipeline", "demo", "s", "--foreground")
	got = run("status", "s")
	require(t, strings.Contains(got, "completed"), got)

	// Each plugin has its own process, which is not the kernel's.
	command := filepath.Join(bin, "agent-pipelines")
	processes := map[string]int{}
	for _, e := range readJournal(t, filepath.Join(project, ".claude/pipeline-runs/s/events.jsonl")) {
		var d started
		check(t, json.Unmarshal(e.Data, &d))
		switch e.Type {
		case event.KernelStart:
			processes["kernel"] = d.PID
		case event.PluginStarted:
			processes[strings.TrimPrefix(d.Plugin, command)] = d.PID
		}
	}
	different := map[int]bool{}
	for _, pid := range processes {
		different[pid] = true
	}
	names := map[string]bool{}
	for name := range processes {
		names[name] = true
	}
	want := map[string]bool{"kernel": true, " plugin serve mock": true, " plugin serve judge": true}
	if diff := cmp.Diff(want, names); diff != "" || len(different) != len(want) {
		t.Errorf("processes %v (-want +got):\n%s", processes, diff)
	}
}

// readJournal reads the events of a session that has ended.
func readJournal(t *testing.T, file string) []event.Event {
	t.Helper()
	text := must(os.ReadFile(file))
	var all []event.Event
	for line := range strings.Lines(string(text)) {
		var e event.Event
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			t.Fatalf("%v: %s", err, line)
		}
		all = append(all, e)
	}
	return all
}

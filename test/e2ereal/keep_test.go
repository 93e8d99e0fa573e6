//go:build e2ereal

package e2ereal

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// recording returns the environment variables that make fakes record the real CLIs.
func (w world) recording(t *testing.T, s scenario, paths []string) []string {
	t.Helper()
	for _, a := range s.agents() {
		check(t, os.MkdirAll(filepath.Join(w.root, "calls", a.cli.Name), 0o755))
	}
	return []string{
		CallsVariable + "=" + filepath.Join(w.root, "calls", "*"), NotesVariable + "=" + filepath.Join(w.notes, "*"),
		RecordVariable + "=" + strings.Join(paths, string(os.PathListSeparator)),
	}
}

// keep replaces the calls in testdata by the recorded ones, without the data that differs between machines.
func (w world) keep(t *testing.T, s scenario, address string) {
	t.Helper()
	for _, a := range s.agents() {
		w.keepCalls(t, s, a, address)
	}
}

func (w world) keepCalls(t *testing.T, s scenario, a agent, address string) {
	t.Helper()
	// Claude Code names directories after paths, with dashes for slashes, underscores and dots.
	dashed := func(path string) string { return strings.NewReplacer("/", "-", "_", "-", ".", "-").Replace(path) }
	scrubber := NewScrubber(
		w.project, "/project", dashed(w.project), "-project", w.home, "/home/user", w.root, "/world",
		filepath.Dir(cli(t, a.cli)), "/opt/"+a.cli.Name, address, "127.0.0.1:8080",
	)
	from, to := filepath.Join(w.root, "calls", a.cli.Name), s.callsDir(t, a)
	check(t, os.RemoveAll(to))
	check(t, os.MkdirAll(to, 0o755))
	calls, err := Calls(from)
	if err != nil || calls == 0 {
		t.Fatalf("%d calls recorded, error %v", calls, err)
	}
	for n := 1; n <= calls; n++ {
		call := must(LoadCall(from, n))
		for _, stream := range call.streams() {
			*stream = scrubber.Stream(*stream)
		}
		check(t, call.Save(to, n))
	}
}

package store_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/dodo-digital/agent-pipelines/kernel/store"
)

// U053: a session is removed with its content; the targets of links stay.
func TestRemoveSession(t *testing.T) {
	work, outside := t.TempDir(), t.TempDir()
	keep := filepath.Join(outside, "keep.txt")
	write(t, keep)
	runs := filepath.Join(work, store.RunsDir)
	write(t, filepath.Join(runs, "gone/stage-00-a/output.md"))
	write(t, filepath.Join(runs, "stays/state.json"))
	write(t, filepath.Join(runs, ".removed-CRASHED/state.json"))
	link(t, outside, filepath.Join(runs, "gone/out"))
	link(t, keep, filepath.Join(runs, "gone/keep"))
	link(t, outside, filepath.Join(runs, "link"))
	p := openProject(t, work)
	check(t, p.RemoveSession("gone"))
	if err := p.RemoveSession("gone"); !errors.Is(err, store.ErrNoSession) {
		t.Errorf("removed twice: %v", err)
	}
	if err := p.RemoveSession("link"); err == nil {
		t.Error("a link was removed as a session")
	}
	if err := p.RemoveSession("../stays"); !errors.Is(err, store.ErrSessionName) {
		t.Errorf("a path was taken for a name: %v", err)
	}
	if _, err := os.Stat(keep); err != nil {
		t.Errorf("the target of a link: %v", err)
	}
	entries := must(os.ReadDir(runs))
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	if len(names) != 2 || names[0] != "link" || names[1] != "stays" {
		t.Errorf("left are %v", names)
	}
}

// A runs directory that leads out of the project is not followed.
func TestRemoveSessionStaysInTheProject(t *testing.T) {
	work, outside := t.TempDir(), t.TempDir()
	write(t, filepath.Join(outside, "s/state.json"))
	check(t, os.Mkdir(filepath.Join(work, ".claude"), 0o700))
	link(t, outside, filepath.Join(work, store.RunsDir))
	if err := openProject(t, work).RemoveSession("s"); err == nil {
		t.Error("removed something outside")
	}
	if _, err := os.Stat(filepath.Join(outside, "s/state.json")); err != nil {
		t.Error(err)
	}
}

func openProject(t *testing.T, dir string) *store.Project {
	t.Helper()
	p := must(store.OpenProject(dir))
	t.Cleanup(func() { p.Close() })
	return p
}

func write(t *testing.T, file string) {
	t.Helper()
	check(t, os.MkdirAll(filepath.Dir(file), 0o700))
	check(t, os.WriteFile(file, []byte("x"), 0o600))
}

func link(t *testing.T, to, at string) {
	t.Helper()
	check(t, os.Symlink(to, at))
}

package store_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/dodo-digital/agent-pipelines/kernel/store"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
)

func TestCheckSession(t *testing.T) {
	tests := map[string]struct {
		name string
		ok   bool
	}{
		"plain":          {"auth", true},
		"all characters": {"aZ_9-", true},
		"longest":        {strings.Repeat("x", store.MaxSession), true},
		"too long":       {strings.Repeat("x", store.MaxSession+1), false},
		"empty":          {"", false},
		"dot":            {"a.b", false},
		"slash":          {"a/b", false},
		"up":             {"..", false},
		"space":          {"a b", false},
		"newline":        {"a\n", false},
		"unicode":        {"größe", false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			err := store.CheckSession(tt.name)
			require(t, tt.ok == (err == nil), err)
			if err != nil && (!errors.Is(err, store.ErrSessionName) || failure.From(err).Hint == "") {
				t.Errorf("%v: want ErrSessionName with a hint", err)
			}
		})
	}
}

func TestOpenMissingSession(t *testing.T) {
	p, _ := openDir(t, "there")
	_, err := p.Open("absent")
	require(t, errors.Is(err, store.ErrNoSession), err)
	_, err = p.Open("../there")
	require(t, errors.Is(err, store.ErrSessionName), err)
}

func TestOpenProjectMissing(t *testing.T) {
	_, err := store.OpenProject(filepath.Join(t.TempDir(), "absent"))
	require(t, errors.Is(err, os.ErrNotExist), err)
}

func TestCreateKeepsExistingFiles(t *testing.T) {
	p, d := openDir(t, "s")
	check(t, d.Replace(store.StateFile, []byte("{}")))
	again := must(p.Create("s"))
	defer again.Close()
	compare(t, "{}", string(must(again.Read(store.StateFile, 10))))
}

func TestSessions(t *testing.T) {
	p := must(store.OpenProject(t.TempDir()))
	defer p.Close()
	if got, err := p.Sessions(); err != nil || got != nil {
		t.Fatalf("a fresh project: %v, %v", got, err)
	}

	base := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for name, after := range map[string]time.Duration{"old": 0, "new": 2 * time.Hour, "middle": time.Hour} {
		d := must(p.Create(name))
		check(t, d.Replace(store.StateFile, []byte("{}")))
		at := base.Add(after)
		check(t, os.Chtimes(d.Abs(store.StateFile), at, at))
		_ = d.Close()
	}
	bare := must(p.Create("bare")) // no state.json yet
	defer bare.Close()
	at := base.Add(3 * time.Hour)
	check(t, os.Chtimes(bare.Path(), at, at))
	for _, other := range []string{"no session", ".hidden"} {
		check(t, p.Mkdir(store.RunsDir+"/"+other))
	}
	check(t, p.Replace(store.RunsDir+"/file", nil))

	got := must(p.Sessions())
	want := []store.SessionEntry{
		{Session: "bare", Modified: base.Add(3 * time.Hour)},
		{Session: "new", Modified: base.Add(2 * time.Hour)},
		{Session: "middle", Modified: base.Add(time.Hour)},
		{Session: "old", Modified: base},
	}
	compare(t, want, got)
}

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
	err := p.RemoveSession("gone")
	require(t, errors.Is(err, store.ErrNoSession), err)
	err = p.RemoveSession("link")
	require(t, err != nil, "a link was removed as a session")
	err = p.RemoveSession("../stays")
	require(t, errors.Is(err, store.ErrSessionName), err)
	if _, err := os.Stat(keep); err != nil {
		t.Errorf("the target of a link: %v", err)
	}
	entries := must(os.ReadDir(runs))
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	require(t, len(names) == 2 && names[0] == "link" && names[1] == "stays", names)
}

// A runs directory that leads out of the project is not followed.
func TestRemoveSessionStaysInTheProject(t *testing.T) {
	work, outside := t.TempDir(), t.TempDir()
	write(t, filepath.Join(outside, "s/state.json"))
	check(t, os.Mkdir(filepath.Join(work, ".claude"), 0o700))
	link(t, outside, filepath.Join(work, store.RunsDir))
	err := openProject(t, work).RemoveSession("s")
	require(t, err != nil, "removed something outside")
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

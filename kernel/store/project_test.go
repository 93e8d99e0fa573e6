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
			if tt.ok != (err == nil) {
				t.Fatalf("got %v", err)
			}
			if err != nil && (!errors.Is(err, store.ErrSessionName) || failure.From(err).Hint == "") {
				t.Errorf("%v: want ErrSessionName with a hint", err)
			}
		})
	}
}

func TestOpenMissingSession(t *testing.T) {
	p, _ := openDir(t, "there")
	if _, err := p.Open("absent"); !errors.Is(err, store.ErrNoSession) {
		t.Errorf("got %v, want ErrNoSession", err)
	}
	if _, err := p.Open("../there"); !errors.Is(err, store.ErrSessionName) {
		t.Errorf("got %v, want ErrSessionName", err)
	}
}

func TestOpenProjectMissing(t *testing.T) {
	if _, err := store.OpenProject(filepath.Join(t.TempDir(), "absent")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("got %v", err)
	}
}

func TestCreateKeepsWhatIsThere(t *testing.T) {
	p, d := openDir(t, "s")
	check(t, d.Replace(store.StateFile, []byte("{}")))
	again := must(p.Create("s"))
	defer again.Close()
	if got, err := again.Read(store.StateFile, 10); err != nil || string(got) != "{}" {
		t.Errorf("got %q, %v", got, err)
	}
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

package workspace

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/store"
)

func project(t *testing.T) (root string, p *store.Project) {
	t.Helper()
	root = t.TempDir()
	p, err := store.OpenProject(root)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.Close() })
	return root, p
}

func write(t *testing.T, name, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// mark is the clock of the file system, after all that happened before and before all that happens after.
func mark(t *testing.T, root string) time.Time {
	t.Helper()
	const tick = 20 * time.Millisecond // longer than a tick of any file system's clock that has less than seconds
	time.Sleep(tick)
	name := filepath.Join(root, ".claude/pipeline-runs/s/context.json")
	write(t, name, "{}")
	info, err := os.Stat(name)
	if err != nil {
		t.Fatal(err)
	}
	time.Sleep(tick)
	return info.ModTime()
}

func TestSince(t *testing.T) {
	root, p := project(t)
	at := func(name string) string { return filepath.Join(root, name) }
	for _, name := range []string{"old.go", "a/kept.go", "a/edited.go", "b/gone.go", "b/stays.go", "c/from.go", ".git/HEAD", "node_modules/x/index.js"} {
		write(t, at(name), "old")
	}
	since := mark(t, root)
	write(t, at("a/edited.go"), "new")
	write(t, at("d/e/made.go"), "new")
	write(t, at(".git/index"), "new")
	write(t, at("node_modules/x/index.js"), "new")
	write(t, at(".claude/pipeline-runs/s/events.jsonl"), "new")
	write(t, at(".claude/locks/s.lock"), "new")
	write(t, at(".claude/settings.json"), "new")
	if err := os.Remove(at("b/gone.go")); err != nil {
		t.Fatal(err)
	}
	if err := os.Chtimes(at("d/e/made.go"), time.Unix(1, 0), time.Unix(1, 0)); err != nil {
		t.Fatal(err)
	}
	changes, partial := Since(t.Context(), p, since)
	if partial {
		t.Error("partial")
	}
	var got []string
	for _, c := range changes {
		got = append(got, c.Path)
		if c.At.Before(since) {
			t.Errorf("%s changed at %s, before %s", c.Path, c.At, since)
		}
	}
	want := []string{".claude/settings.json", "a/edited.go", "b/", "d/e/made.go"}
	if changedAtIsSetByFiles {
		want = want[:3]
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestSinceWithoutChanges(t *testing.T) {
	root, p := project(t)
	write(t, filepath.Join(root, "a/old.go"), "old")
	if changes, partial := Since(t.Context(), p, mark(t, root)); len(changes) > 0 || partial {
		t.Errorf("%v, partial %v", changes, partial)
	}
}

func TestSinceIsBounded(t *testing.T) {
	root, p := project(t)
	write(t, filepath.Join(root, "a/new.go"), "new")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, partial := Since(ctx, p, time.Time{}); !partial {
		t.Error("a look that was cut short says that it saw all")
	}
	l := look{project: p, budget: 1}
	if l.into("."); l.budget > 0 {
		t.Errorf("%d entries left after one", l.budget)
	}
}

const (
	one   = "1111111111111111111111111111111111111111"
	two   = "2222222222222222222222222222222222222222"
	three = "3333333333333333333333333333333333333333"
)

func line(from, to string, at int64, action string) string {
	return fmt.Sprintf("%s %s A U Thor <a@example.org> %d +0200\t%s\n", from, to, at, action)
}

func TestHeadSince(t *testing.T) {
	log := line(one, two, 100, "commit: one") + "torn\n" + line(two, three, 200, "commit: two") + line(three, one, 300, "reset: moving to HEAD~2")
	for _, tt := range []struct {
		name  string
		since int64
		want  *event.HeadData
	}{
		{"all", 50, &event.HeadData{From: one, To: one, Moves: 3}},
		{"the last two", 101, &event.HeadData{From: two, To: one, Moves: 2}},
		{"that very second", 300, &event.HeadData{From: three, To: one, Moves: 1}},
		{"none", 301, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			root := t.TempDir()
			write(t, filepath.Join(root, ".git/logs/HEAD"), log)
			if diff := cmp.Diff(tt.want, HeadSince(root, time.Unix(tt.since, 0))); diff != "" {
				t.Error(diff)
			}
			write(t, filepath.Join(root, "sub/x"), "")
			if diff := cmp.Diff(tt.want, HeadSince(filepath.Join(root, "sub"), time.Unix(tt.since, 0))); diff != "" {
				t.Errorf("from below: %s", diff)
			}
		})
	}
}

func TestHeadOfAWorktree(t *testing.T) {
	root := t.TempDir()
	write(t, filepath.Join(root, "main/.git/worktrees/w/logs/HEAD"), line(one, two, 100, "commit"))
	write(t, filepath.Join(root, "w/.git"), "gitdir: ../main/.git/worktrees/w\n")
	write(t, filepath.Join(root, "v/.git"), "gitdir: "+filepath.Join(root, "main/.git/worktrees/w")+"\n")
	for _, name := range []string{"w", "v"} {
		if h := HeadSince(filepath.Join(root, name), time.Unix(100, 0)); h == nil || h.To != two {
			t.Errorf("%s: %+v", name, h)
		}
	}
}

func TestNoHead(t *testing.T) {
	root := t.TempDir()
	write(t, filepath.Join(root, "none/.git/HEAD"), "ref: refs/heads/main\n")
	write(t, filepath.Join(root, "odd/.git"), "nonsense")
	if err := os.MkdirAll(filepath.Join(root, "dir/.git/logs/HEAD"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"none", "odd", "dir"} {
		if h := HeadSince(filepath.Join(root, name), time.Unix(0, 0)); h != nil {
			t.Errorf("%s: %+v", name, h)
		}
	}
}

// Of a long log the end counts, whose first line may be cut.
func TestLongLog(t *testing.T) {
	root := t.TempDir()
	long := strings.Repeat(line(one, two, 100, "commit"), maxLog/100)
	write(t, filepath.Join(root, ".git/logs/HEAD"), long+line(two, three, 200, "commit"))
	if diff := cmp.Diff(&event.HeadData{From: two, To: three, Moves: 1}, HeadSince(root, time.Unix(150, 0))); diff != "" {
		t.Error(diff)
	}
}

func FuzzHeadLog(f *testing.F) {
	f.Add(line(one, two, 100, "commit"))
	f.Add(line(one, two, 1<<60, "commit") + "x")
	f.Add(one + " " + two + " 5 +0000")
	f.Fuzz(func(t *testing.T, log string) {
		if h := moved(log, time.Unix(0, 0)); h != nil && (len(h.From) < 40 || len(h.To) < 40 || h.Moves < 1) {
			t.Errorf("%+v", h)
		}
	})
}

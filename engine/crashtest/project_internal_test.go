package crashtest

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/dodo-digital/agent-pipelines/engine/internal/testkit"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
)

// A trial's copy excludes large directories, external links and sessions. Changes in the copy are reported by kind.
func TestProject(t *testing.T) {
	root, copied := t.TempDir(), filepath.Join(t.TempDir(), "copy")
	put(t, root, "main.go", "package main\n")
	put(t, root, "gone.txt", "x")
	put(t, root, "gone/too.txt", "x")
	put(t, root, "kept.txt", "x")
	put(t, root, "notes/secret.txt", "x")
	put(t, root, "node_modules/a/index.js", "x")
	put(t, root, ".claude/pipeline-runs/s/state.json", "{}")
	put(t, root, ".claude/loop-completions.json", `[{"session": "s", "completed_at": 1}]`)
	for name, to := range map[string]string{"inside": "main.go", "up": "../elsewhere", "away": "/etc/hosts"} {
		testkit.OK(t, os.Symlink(to, filepath.Join(root, name)))
	}
	testkit.OK(t, syscall.Mkfifo(filepath.Join(root, "pipe"), 0o600))
	p := project{root: root, leaveOut: []string{"notes/"}, ignore: []string{"build/"}}
	testkit.OK(t, p.copyTo(copied))
	testkit.Equal(t, []string{"away", "node_modules", "notes", "pipe", "up"}, p.excluded)
	if err := p.copyTo(copied); err == nil {
		t.Error("a copy goes over another one")
	}
	testkit.Equal(t, "package main\n", string(testkit.Must(os.ReadFile(filepath.Join(copied, "inside")))))

	r := reader{names: names{replacer: strings.NewReplacer(), pattern: regexp.MustCompile(`pipeline-runs/(s)()`)}}
	testkit.Equal(t, p.files, testkit.Must(p.digests(copied)))
	testkit.OK(t, os.Remove(filepath.Join(copied, "gone.txt")))
	testkit.OK(t, os.RemoveAll(filepath.Join(copied, "gone")))
	testkit.OK(t, os.Remove(filepath.Join(copied, "inside")))
	testkit.OK(t, os.Symlink("kept.txt", filepath.Join(copied, "inside")))
	testkit.OK(t, syscall.Mkfifo(filepath.Join(copied, "pipe"), 0o600))
	put(t, copied, "main.go", "package other\n")
	put(t, copied, "program", "\x7fELF\x00")
	large := strings.Repeat("line\n", maxCompared/5+1)
	put(t, copied, "large.log", large)
	put(t, copied, "build/out", "x")
	put(t, copied, ".claude/pipeline-runs/s/state.json", "{}")
	put(t, copied, ".claude/loop-completions.json", `[{"session": "s", "completed_at": 23}]`)
	want := map[string]any{
		projectPrefix + "gone.txt": "removed", projectPrefix + "gone/too.txt": "removed",
		projectPrefix + "inside": "Lrwxrwxrwx kept.txt", projectPrefix + "pipe": "prw------- ",
		projectPrefix + "main.go": "package other\n", projectPrefix + "program": "-rw------- " + sha256Hex([]byte("\x7fELF\x00")),
		projectPrefix + "large.log":                     "-rw------- " + sha256Hex([]byte(large)),
		projectPrefix + ".claude/loop-completions.json": []any{map[string]any{"session": "s"}},
	}
	testkit.Equal(t, want, testkit.Must(r.changes(copied, p.files, testkit.Must(p.digests(copied)))))
}

// Optional directories are copied on request; a project over the limits is refused with a hint.
func TestProjectWith(t *testing.T) {
	root := t.TempDir()
	put(t, root, ".git/HEAD", "ref: refs/heads/main\n")
	put(t, root, "core", "")
	p := project{root: root, with: []string{".git"}}
	testkit.OK(t, p.copyTo(filepath.Join(t.TempDir(), "copy")))
	if _, err := os.Stat(filepath.Join(p.dir, ".git/HEAD")); err != nil || len(p.excluded) > 0 {
		t.Errorf("%+v, %v", p, err)
	}
	testkit.Fails(t, p.copyTo(filepath.Join(root, "core")), "core: not a directory")
	testkit.OK(t, os.Truncate(filepath.Join(root, "core"), maxBytes+1)) // sparse
	err := p.copyTo(filepath.Join(t.TempDir(), "copy"))
	testkit.Fails(t, err, "counted up to core")
	testkit.Equal(t, "exclude unneeded files with --leave-out", failure.Render(failure.From(err).Hint, "x"))
	p.root = filepath.Join(root, "missing")
	testkit.Fails(t, p.copyTo(filepath.Join(t.TempDir(), "copy")), "copy "+p.root+": ")
}

// Lists are compared element by element, also if their lengths differ.
func TestDiffOfLists(t *testing.T) {
	var got []string
	for _, d := range diffValue(Difference{Where: "f", Path: ""}, map[string]any{"a": []any{1.0, "x", nil}}, map[string]any{"a": []any{2.0, "x\ny"}}) {
		got = append(got, d.String())
	}
	want := []string{"f, a.0: expected 1, got 2", `f, a.1.line 2: expected the end of the text, got "y"`, "f, a.2: missing: null"}
	testkit.Equal(t, want, got)
}

// Times before the first line and after the last have moments, too.
func TestKillMoments(t *testing.T) {
	l := timeline{10 * time.Millisecond, 30 * time.Millisecond}
	for want, got := range map[string]string{
		"5ms after line 0": l.moment(5 * time.Millisecond).String(), "at line 1": l.moment(10 * time.Millisecond).String(),
		"4ms after line 2": l.moment(34 * time.Millisecond).String(), "20ms": l.gap(1).String(), "0s": l.gap(2).String(),
	} {
		if got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}

func put(t *testing.T, root, name, text string) {
	t.Helper()
	file := filepath.Join(root, name)
	testkit.OK(t, os.MkdirAll(filepath.Dir(file), 0o755))
	testkit.OK(t, os.WriteFile(file, []byte(text), 0o600))
}

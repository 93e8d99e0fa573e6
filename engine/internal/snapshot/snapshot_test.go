package snapshot_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/dodo-digital/agent-pipelines/engine/internal/snapshot"
)

// project is a workspace with its snapshots.
type project struct {
	*testing.T
	dir, state string
	*snapshot.Repository
}

func newProject(t *testing.T) project {
	t.Helper()
	t.Setenv("HOME", t.TempDir())
	p := project{T: t, dir: t.TempDir(), state: t.TempDir()}
	p.Repository = p.open("s")
	return p
}

func (p project) open(session string) *snapshot.Repository {
	p.Helper()
	r, err := snapshot.Open(p.Context(), p.state, p.dir, session)
	if err != nil {
		p.Fatal(err)
	}
	return r
}

func (p project) write(name, content string) {
	p.Helper()
	to := filepath.Join(p.dir, name)
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		p.Fatal(err)
	}
	if err := os.WriteFile(to, []byte(content), 0o644); err != nil {
		p.Fatal(err)
	}
}

func (p project) remove(name string) {
	p.Helper()
	if err := os.RemoveAll(filepath.Join(p.dir, name)); err != nil {
		p.Fatal(err)
	}
}

func (p project) record(name string) string {
	p.Helper()
	id, err := p.Record(p.Context(), name, "message of "+name)
	if err != nil {
		p.Fatal(err)
	}
	return id
}

func (p project) changed(from, to string) []string {
	p.Helper()
	names, err := p.Changed(p.Context(), from, to)
	if err != nil {
		p.Fatal(err)
	}
	return names
}

func (p project) git(dir string, args ...string) {
	p.Helper()
	cmd := exec.Command("git", append([]string{"-C", filepath.Join(p.dir, dir), "-c", "user.name=a", "-c", "user.email=a@example.com"}, args...)...)
	if out, err := cmd.CombinedOutput(); err != nil {
		p.Fatalf("git %v: %v\n%s", args, err, out)
	}
}

func TestChanged(t *testing.T) {
	p := newProject(t)
	odd := []string{"-dash", "sp ace", "new\nline", "ü.txt", ":(glob)*"}
	for _, name := range append([]string{"a", "dir/b", "gone"}, odd...) {
		p.write(name, name)
	}
	p.write(".gitignore", "*.log\n")
	p.write("x.log", "ignored")
	p.write(".claude/state", "ours")
	before := p.record("s/base")
	if got := p.changed(before, p.record("s/same")); got != nil {
		t.Errorf("nothing was changed: %q", got)
	}
	for _, name := range odd {
		p.write(name, "new")
	}
	p.remove("gone")
	p.remove("a")
	p.write("a/now/a/directory", "")
	p.write("x.log", "changed")
	p.write(".claude/state", "changed")
	p.write("dir/__pycache__/b.pyc", "")
	after := p.record("s/after")
	want := append([]string{"a", "a/now/a/directory", "gone"}, odd...)
	slices.Sort(want)
	got := p.changed(before, after)
	slices.Sort(got)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for _, name := range odd {
		if text, err := p.Read(t.Context(), before, name); text != name || err != nil {
			t.Errorf("%q: %q, %v", name, text, err)
		}
	}
	if text, err := p.Read(t.Context(), after, "gone"); text != "" || err != nil {
		t.Errorf("%q, %v", text, err)
	}
}

func TestRawContent(t *testing.T) {
	p := newProject(t)
	p.write(".gitattributes", "* text=auto eol=lf ident filter=evil export-ignore working-tree-encoding=UTF-16\n")
	const raw = "one\r\ntwo $Id$ ü\r\n"
	p.write("a.txt", raw)
	if text, err := p.Read(t.Context(), p.record("s/a"), "a.txt"); text != raw || err != nil {
		t.Errorf("%q, %v", text, err)
	}
}

// AUDIT, DESIGN 9: nothing runs that an agent configured, in the project's repository or in one inside it.
func TestConfiguredProgramsDoNotRun(t *testing.T) {
	p := newProject(t)
	p.git("", "init", "-q")
	p.write("a", "1")
	p.git("", "add", "a")
	p.git("", "commit", "-qm", "a")
	p.write("inner/code.go", "package inner")
	p.git("inner", "init", "-q")
	p.git("inner", "add", ".")
	p.git("inner", "commit", "-qm", "inner")
	ran := filepath.Join(p.dir, "ran")
	p.write("evil", "#!/bin/sh\ntouch "+ran+"\n")
	if err := os.Chmod(filepath.Join(p.dir, "evil"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{"", "inner"} {
		p.git(dir, "config", "core.fsmonitor", filepath.Join(p.dir, "evil"))
		p.git(dir, "config", "filter.evil.clean", filepath.Join(p.dir, "evil"))
		for _, hook := range []string{"post-index-change", "reference-transaction", "post-checkout"} {
			p.write(filepath.Join(dir, ".git/hooks", hook), "#!/bin/sh\ntouch "+ran+"\n")
			if err := os.Chmod(filepath.Join(p.dir, dir, ".git/hooks", hook), 0o755); err != nil {
				t.Fatal(err)
			}
		}
	}
	p.write(".gitattributes", "* filter=evil\n")
	index, err := os.ReadFile(filepath.Join(p.dir, ".git/index"))
	if err != nil {
		t.Fatal(err)
	}
	before := p.record("s/a")
	p.write("inner/code.go", "package other")
	p.write("inner/more.go", "package other")
	if got := p.changed(before, p.record("s/b")); !slices.Equal(got, []string{"inner/code.go", "inner/more.go"}) {
		t.Errorf("changed: %q", got)
	}
	if _, err := os.Stat(ran); err == nil {
		t.Error("a configured program ran")
	}
	if after, err := os.ReadFile(filepath.Join(p.dir, ".git/index")); err != nil || !bytes.Equal(after, index) {
		t.Errorf("the user's index was written: %v", err)
	}
}

func TestFind(t *testing.T) {
	p := newProject(t)
	if _, _, found, err := p.Find(t.Context(), "s/run/base"); found || err != nil {
		t.Errorf("%t, %v", found, err)
	}
	p.write("a", "1")
	p.record("s/run/base")
	p.write("a", "2")
	id := p.record("s/run/base")
	got, message, found, err := p.open("other").Find(t.Context(), "s/run/base")
	if got != id || strings.TrimSpace(message) != "message of s/run/base" || !found || err != nil {
		t.Errorf("%s %q %t %v, want %s", got, message, found, err, id)
	}
}

func TestExport(t *testing.T) {
	p := newProject(t)
	p.write("code", "old")
	p.write("test", "old")
	p.write("removed_test", "old")
	p.write("node_modules/a/index.js", "1")
	if err := os.Symlink("code", filepath.Join(p.dir, "link")); err != nil {
		t.Fatal(err)
	}
	before := p.record("s/a")
	p.write("code", "new")
	p.write("test", "new")
	p.write("sub/new_test", "new")
	p.remove("removed_test")
	after := p.record("s/b")
	dir, err := p.Export(t.Context(), t.TempDir(), before, after, []string{"test", "sub/new_test", "removed_test"})
	defer snapshot.Remove(dir)
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"code": "old", "link": "old", "test": "new", "sub/new_test": "new", "node_modules/a/index.js": "1", "removed_test": "", ".git-index": ""} {
		text, err := os.ReadFile(filepath.Join(dir, name))
		if string(text) != want || (err != nil) != (want == "") {
			t.Errorf("%s: %q, %v", name, text, err)
		}
	}
	snapshot.Remove("")
	if _, err := p.Export(t.Context(), t.TempDir(), "missing", after, nil); err == nil || !strings.Contains(err.Error(), "git read-tree") {
		t.Error(err)
	}
}

func TestLeftLockAndHome(t *testing.T) {
	p := newProject(t)
	p.write("home/cache", "1")
	t.Setenv("HOME", filepath.Join(p.dir, "home"))
	p.state = t.TempDir()
	p.Repository = p.open("s")
	before := p.record("s/a")
	dirs, err := filepath.Glob(filepath.Join(p.state, "snapshots", "*"))
	if err != nil || len(dirs) != 1 {
		t.Fatal(dirs, err)
	}
	if err := os.WriteFile(filepath.Join(dirs[0], "index-s.lock"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	p.Repository = p.open("s")
	p.write("home/cache", "2")
	p.write("a", "1")
	if got := p.changed(before, p.record("s/b")); !slices.Equal(got, []string{"a"}) {
		t.Errorf("%q", got)
	}
}

func TestOpenErrors(t *testing.T) {
	p := newProject(t)
	if _, err := snapshot.Open(t.Context(), p.state, filepath.Join(p.dir, "missing"), "s"); err == nil {
		t.Error("a missing workspace was opened")
	}
	if _, err := snapshot.Open(t.Context(), filepath.Join(p.dir, "file", "x"), p.dir, "s"); err != nil {
		t.Error(err)
	}
	p.write("taken", "")
	if _, err := snapshot.Open(t.Context(), filepath.Join(p.dir, "taken"), p.dir, "s"); err == nil {
		t.Error("a file was taken for the state directory")
	}
	t.Setenv("PATH", "")
	if _, err := snapshot.Open(t.Context(), p.state, p.dir, "s"); err == nil || !strings.Contains(err.Error(), "the program git") {
		t.Error(err)
	}
}

// Without its repository every operation fails, and names the step of git.
func TestLostRepository(t *testing.T) {
	p := newProject(t)
	p.write("a", "1")
	id := p.record("s/a")
	if err := os.RemoveAll(filepath.Join(p.state, "snapshots")); err != nil {
		t.Fatal(err)
	}
	ctx := t.Context()
	for step, call := range map[string]func() error{
		"ls-files":     func() error { _, err := p.Record(ctx, "s/b", ""); return err },
		"for-each-ref": func() error { _, _, _, err := p.Find(ctx, "s/a"); return err },
		"diff-tree":    func() error { _, err := p.Changed(ctx, id, id); return err },
		"ls-tree":      func() error { _, err := p.Read(ctx, id, "a"); return err },
		"read-tree": func() error {
			dir, err := p.Export(ctx, t.TempDir(), id, id, nil)
			snapshot.Remove(dir)
			return err
		},
	} {
		if err := call(); err == nil || !strings.Contains(err.Error(), "git "+step+" of the snapshots in ") {
			t.Errorf("%s: %v", step, err)
		}
	}
	for parent, names := range map[string][]string{filepath.Join(p.dir, "missing"): nil, t.TempDir(): {"a"}} {
		dir, err := p.Export(ctx, parent, id, id, names)
		snapshot.Remove(dir)
		if err == nil {
			t.Errorf("%s was written", parent)
		}
	}
}

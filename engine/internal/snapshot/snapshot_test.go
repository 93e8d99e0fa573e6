package snapshot

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/dodo-digital/agent-pipelines/engine/internal/testkit"
)

// workspace is a directory with the output of a script of sh, and its snapshots.
type workspace struct {
	*Repository
	t    *testing.T
	root string
}

// newWorkspace ends the test if the program git is missing.
func newWorkspace(t *testing.T, script string) *workspace {
	t.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("the program git is missing")
	}
	w := &workspace{t: t, root: filepath.Join(t.TempDir(), "a project")}
	testkit.OK(t, os.Mkdir(w.root, 0o700))
	w.sh(script)
	var err error
	w.Repository, err = Open(t.Context(), t.TempDir(), w.root, "session")
	testkit.OK(t, err)
	return w
}

// sh runs a script in the workspace and returns its output.
func (w *workspace) sh(script string) string {
	w.t.Helper()
	cmd := exec.Command("sh", "-ec", script)
	cmd.Dir, cmd.Env = w.root, append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null")
	out, err := cmd.CombinedOutput()
	if err != nil {
		w.t.Fatalf("%s: %v: %s", script, err, out)
	}
	return string(out)
}

func (w *workspace) snapshot(name, message string) string {
	w.t.Helper()
	id, err := w.Record(w.t.Context(), name, message)
	testkit.OK(w.t, err)
	return id
}

// content returns the files below a directory by their names: "->" and the target of a link, "x " before the content of
// a program.
func content(t *testing.T, root string) map[string]string {
	t.Helper()
	files := map[string]string{}
	testkit.OK(t, filepath.WalkDir(root, func(file string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		name, _ := filepath.Rel(root, file)
		info, _ := d.Info()
		if d.Type() == fs.ModeSymlink {
			target, err := os.Readlink(file)
			files[name] = "->" + target
			return err
		}
		raw, err := os.ReadFile(file)
		if files[name] = string(raw); info.Mode()&0o100 != 0 {
			files[name] = "x " + files[name]
		}
		return err
	}))
	return files
}

// A snapshot has what a script changed, and an export of the state before it, with the changed files, equals the
// workspace after it.
func TestChanged(t *testing.T) {
	const isGit = "git init -q; git config user.email a@example.com; git config user.name a; git commit -q --allow-empty -m a; "
	for name, tt := range map[string]struct {
		before, change string
		want           []string
		hidden         bool // the workspace has files that no snapshot has
	}{
		"nothing, in an empty directory": {before: ":", change: ":"},
		"added, changed, removed, empty": {before: "echo 1 >a; echo 1 >b", change: "rm a; echo 2 >b; mkdir d; : >d/c", want: []string{"a", "b", "d/c"}},
		"odd names": {
			before: "echo 1 >a",
			change: `for name in -n ':(glob)*' ' a ' 'é' 'a\b' '"' 'git~1' "$(printf 'new\nline')"; do echo 1 >"./$name"; done`,
			want:   []string{" a ", "\"", "-n", ":(glob)*", "a\\b", "git~1", "new\nline", "é"},
		},
		"links and programs":                    {before: "echo 1 >a; ln -s a l", change: "ln -sf /nowhere l; chmod +x a; ln -s . d", want: []string{"a", "d", "l"}},
		"a file that becomes a directory":       {before: "echo 1 >a", change: "rm a; mkdir a; echo 1 >a/b", want: []string{"a", "a/b"}},
		"a directory that becomes a file":       {before: "mkdir a; echo 1 >a/b", change: "rm -r a; echo 1 >a", want: []string{"a", "a/b"}},
		"a directory that becomes a link":       {before: "mkdir -p a/c x/c; echo 1 | tee a/b a/c/d >x/b", change: "rm -r a; ln -s x a", want: []string{"a", "a/b", "a/c/d"}},
		"a directory that becomes a repository": {before: "mkdir a; echo 1 >a/b", change: "git init -q a; echo 2 >a/b; echo 1 >a/c", want: []string{"a/b", "a/c"}, hidden: true},
		"ignored":                               {before: "echo '*.log' >.gitignore", change: "echo 1 >a.log; mkdir -p node_modules .claude d/__pycache__; echo 1 | tee node_modules/a .claude/b >d/__pycache__/c; echo 1 >b", want: []string{"b"}, hidden: true},
		"recorded, and ignored later":           {before: "echo 1 >a", change: "echo a >.gitignore; echo 2 >a", want: []string{".gitignore", "a"}},
		"attributes": {
			before: "printf '* text eol=lf ident export-ignore working-tree-encoding=UTF-16 filter=evil\\n' >.gitattributes; " + isGit + `git config filter.evil.clean 'touch ran'; git config filter.evil.smudge 'touch ran'`,
			change: `printf 'a\r\n$Id$\n$Id: 1$\n' >a`, want: []string{"a"}, hidden: true,
		},
		"a nested repository": {
			before: "git init -q n; echo 1 >n/a; mkdir n/node_modules; echo 1 >n/node_modules/x; " + isGit,
			change: "echo 2 >n/a; echo 1 >n/new; git init -q n/m; echo 1 >n/m/c; git init -q o; echo '*.log' >o/.gitignore; echo 1 | tee o/a.log >o/b", want: []string{"n/a", "n/m/c", "n/new", "o/.gitignore", "o/b"}, hidden: true,
		},
		"configured programs": {
			before: isGit + `git init -q n; echo 1 >n/a
				for d in . n; do for c in core.fsmonitor core.sshCommand core.pager; do git -C $d config $c 'touch ran #'; done
				for h in post-index-change pre-commit post-checkout reference-transaction; do printf '#!/bin/sh\ntouch ran\n' >$d/.git/hooks/$h; chmod +x $d/.git/hooks/$h; done; done`,
			change: "echo 1 >b", want: []string{"b"}, hidden: true,
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorkspace(t, tt.before)
			before := w.snapshot("before", "")
			w.sh(tt.change)
			files := content(t, w.root)
			after := w.snapshot("after", "")
			got, err := w.Changed(t.Context(), before, after)
			testkit.OK(t, err)
			testkit.Equal(t, tt.want, got)
			testkit.Equal(t, files, content(t, w.root)) // of the repository of the user too

			dir, err := w.Export(t.Context(), t.TempDir(), before, after, got)
			defer RemoveExport(dir)
			testkit.OK(t, err)
			exported := content(t, dir)
			if tt.hidden {
				for _, name := range tt.want {
					testkit.Equal(t, files[name], exported[name])
				}
			} else {
				testkit.Equal(t, files, exported)
			}
			for _, name := range got {
				text, err := w.Read(t.Context(), after, name)
				testkit.OK(t, err)
				testkit.Equal(t, strings.TrimPrefix(strings.TrimPrefix(exported[name], "x "), "->"), text)
			}
		})
	}
}

// An export has installed packages by a link, and the files of another snapshot only where they are named.
func TestExport(t *testing.T) {
	w := newWorkspace(t, "mkdir node_modules; echo 1 | tee node_modules/p a b >c")
	before := w.snapshot("before", "")
	w.sh("echo 2 | tee a b; rm c; echo 2 >d")
	dir, err := w.Export(t.Context(), t.TempDir(), before, w.snapshot("after", ""), []string{"a", "c", "absent"})
	testkit.OK(t, err)
	testkit.Equal(t, map[string]string{"a": "2\n", "b": "1\n", "node_modules": "->" + w.worktree + "/node_modules"}, content(t, dir))
	RemoveExport(dir)
	_, err = os.Stat(dir)
	testkit.Fails(t, err, "no such file")
	testkit.Fails(t, testkit.Error(w.Export(t.Context(), filepath.Join(dir, "absent"), before, before, nil)), "no such file")
	for _, ids := range [][2]string{{"absent", before}, {before, "absent"}} {
		dir, err = w.Export(t.Context(), t.TempDir(), ids[0], ids[1], []string{"a"})
		testkit.Fails(t, err, "git ")
		RemoveExport(dir)
	}
}

// A snapshot is found by its whole name, with the message of its last Take; its id stays valid.
func TestFind(t *testing.T) {
	w := newWorkspace(t, "echo 1 >a")
	first := w.snapshot("run/base/green", "first")
	w.sh("echo 2 >a")
	second := w.snapshot("run/base/green", "two\n\nlines")
	id, message, found, err := w.Find(t.Context(), "run/base/green")
	testkit.OK(t, err)
	if id != second || message != "two\n\nlines" || !found {
		t.Errorf("found %s %q, %v; want %s", id, message, found, second)
	}
	for _, name := range []string{"run/base", "run/base/gree", "run"} {
		if _, _, found, err := w.Find(t.Context(), name); found || err != nil {
			t.Errorf("%s: found %v, error %v", name, found, err)
		}
	}
	text, err := w.Read(t.Context(), first, "a")
	testkit.OK(t, err)
	testkit.Equal(t, "1\n", text)
	text, err = w.Read(t.Context(), first, "absent")
	testkit.OK(t, err)
	testkit.Equal(t, "", text)
	testkit.Fails(t, testkit.Error(w.Changed(t.Context(), first, "absent")), "git diff-tree of the snapshots")
	testkit.Fails(t, testkit.Error(w.Record(t.Context(), "not a name", "")), "git update-ref of the snapshots")
}

// Sessions of a workspace begin and record at the same time, also after a killed process left its lock.
// Removing a session's snapshots leaves those of others, and what they name.
func TestRemove(t *testing.T) {
	w := newWorkspace(t, "echo one >a")
	stateDir := filepath.Dir(filepath.Dir(w.dir))
	for _, name := range []string{Name("session", "run", "check"), Name("session", "run", "base"), Name("session.2", "run", "check")} {
		w.snapshot(name, "")
	}
	testkit.OK(t, Remove(t.Context(), stateDir, w.root, "session"))
	testkit.OK(t, Remove(t.Context(), stateDir, w.root, "session"))
	testkit.OK(t, Remove(t.Context(), t.TempDir(), w.root, "session"))
	if out := testkit.Must(w.git(t.Context(), "", "for-each-ref", "--format=%(refname)")); strings.TrimSpace(out) != ref(Name("session.2", "run", "check")) {
		t.Errorf("the references are %q", out)
	}
	if files, _ := filepath.Glob(w.index + "*"); len(files) != 0 {
		t.Errorf("%v is left", files)
	}
	id, _, _, err := w.Find(t.Context(), Name("session.2", "run", "check"))
	if got, fault := w.Read(t.Context(), id, "a"); err != nil || fault != nil || got != "one\n" {
		t.Errorf("the other session reads %q, errors %v, %v", got, err, fault)
	}
}

func TestSessionsAtTheSameTime(t *testing.T) {
	w := newWorkspace(t, "mkdir .state; echo 1 >a")
	state := filepath.Join(w.root, ".state") // in the workspace, and in no snapshot
	var all sync.WaitGroup
	for _, session := range []string{"a", "b", "c", "d"} {
		all.Go(func() {
			r, err := Open(t.Context(), state, w.root, session)
			if err != nil {
				t.Error(err)
				return
			}
			for _, name := range []string{"1", "2", "3"} {
				if _, err := r.Record(t.Context(), session+"/"+name, ""); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	r, err := Open(t.Context(), state, w.root, "a")
	testkit.OK(t, err)
	testkit.OK(t, os.WriteFile(r.index+".lock", nil, 0o600))
	testkit.Fails(t, testkit.Error(r.Record(t.Context(), "a/4", "")), "index-a.lock")
	r, err = Open(t.Context(), state, w.root, "a")
	testkit.OK(t, err)
	id, err := r.Record(t.Context(), "a/4", "")
	testkit.OK(t, err)
	dir, err := r.Export(t.Context(), t.TempDir(), id, id, nil)
	testkit.OK(t, err)
	testkit.Equal(t, map[string]string{"a": "1\n"}, content(t, dir))
	left, err := filepath.Glob(filepath.Join(state, "snapshots", ".new-*"))
	testkit.OK(t, err)
	testkit.Equal(t, nil, left)
}

func TestOpenFails(t *testing.T) {
	testkit.Fails(t, testkit.Error(Open(t.Context(), t.TempDir(), "/absent", "s")), "no such file")
	file := filepath.Join(t.TempDir(), "file")
	testkit.OK(t, os.WriteFile(file, nil, 0o600))
	testkit.Fails(t, testkit.Error(Open(t.Context(), file, t.TempDir(), "s")), "not a directory")
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	testkit.Fails(t, testkit.Error(Open(ended, t.TempDir(), t.TempDir(), "s")), "context canceled")
	testkit.Fails(t, testkit.Error(newWorkspace(t, ":").Record(ended, "a", "")), "context canceled")
	_, _, _, err := newWorkspace(t, ":").Find(ended, "a")
	testkit.Fails(t, err, "context canceled")
	t.Setenv("PATH", t.TempDir())
	testkit.Fails(t, testkit.Error(Open(t.Context(), t.TempDir(), t.TempDir(), "s")), "the program git, which measures what changed, is missing")
}

// A git that an agent made in a directory of PATH below the project does not run, nor does a link to one.
func TestProgramIsOutsideOfTheProject(t *testing.T) {
	project, other := t.TempDir(), t.TempDir()
	for name, text := range map[string]string{project: "", filepath.Join(project, ".venv", "bin"): "evil", other: "good"} {
		testkit.OK(t, os.MkdirAll(name, 0o700))
		if text != "" {
			testkit.OK(t, os.WriteFile(filepath.Join(name, "git"), []byte("#!/bin/sh\necho "+text+"\n"), 0o700))
		}
	}
	linked := t.TempDir()
	testkit.OK(t, os.Symlink(filepath.Join(project, ".venv", "bin", "git"), filepath.Join(linked, "git")))
	within := filepath.Join(project, ".venv", "bin")
	for path, want := range map[string]string{
		strings.Join([]string{"bin", "", within, linked, other}, ":"): filepath.Join(other, "git"),
		strings.Join([]string{within, linked}, ":"):                   "git outside of the project",
	} {
		t.Setenv("PATH", path)
		testkit.Equal(t, want, Program(project))
	}
}

// BenchmarkRecord records a small project of 20 files and a large one of 4,000, each once at first and then after a change
// of one file. The command bench shows its metrics, all in nanoseconds for one snapshot.
func BenchmarkRecord(b *testing.B) {
	if _, err := exec.LookPath("git"); err != nil {
		b.Fatal("the program git is missing")
	}
	for b.Loop() {
		for name, files := range map[string]int{"small": 20, "large": 4000} {
			root := b.TempDir()
			for i := range files {
				dir := filepath.Join(root, fmt.Sprintf("dir%02d", i%40))
				testkit.OK(b, os.MkdirAll(dir, 0o700))
				text := strings.Repeat(fmt.Sprintf("line %d of a source file\n", i), 100)
				testkit.OK(b, os.WriteFile(filepath.Join(dir, fmt.Sprintf("file%04d.txt", i)), []byte(text), 0o600))
			}
			r := testkit.Must(Open(b.Context(), b.TempDir(), root, "session"))
			record := func(name string) float64 {
				start := time.Now()
				testkit.Must(r.Record(b.Context(), name, ""))
				return float64(time.Since(start))
			}
			b.ReportMetric(record("first"), name+"-first-ns")
			testkit.OK(b, os.WriteFile(filepath.Join(root, "dir00", "file0000.txt"), []byte("changed\n"), 0o600))
			b.ReportMetric(record("later"), name+"-later-ns")
		}
	}
}

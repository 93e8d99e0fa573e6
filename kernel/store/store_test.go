package store_test

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/store"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
)

func TestWriteAndReadByReference(t *testing.T) {
	_, d := openDir(t, "s")
	name := store.Node("stage-00-a").Iteration(1).Result()
	ref := must(d.Write(name, []byte("hello")))
	want := event.Ref{Path: name, SHA256: "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824", Size: 5}
	compare(t, want, ref)
	compare(t, ref, must(d.Ref(name)))
	compare(t, "hello", string(must(d.ReadRef(ref))))
	compare(t, "hello", string(must(os.ReadFile(d.Abs(name)))))
}

func TestReadRefRefusesAnotherFile(t *testing.T) {
	tests := map[string]func(d *store.Dir) error{
		"same size":   func(d *store.Dir) error { return d.Replace("f", []byte("hellO")) },
		"shorter":     func(d *store.Dir) error { return d.Replace("f", []byte("hell")) },
		"longer":      func(d *store.Dir) error { return d.Replace("f", []byte("hello!")) },
		"removed":     func(d *store.Dir) error { return d.Remove("f") },
		"emptied":     func(d *store.Dir) error { return d.Replace("f", nil) },
		"other file ": func(d *store.Dir) error { return errors.Join(d.Replace("g", []byte("world")), d.Rename("g", "f")) },
	}
	for name, change := range tests {
		t.Run(name, func(t *testing.T) {
			_, d := openDir(t, "s")
			ref := must(d.Write("f", []byte("hello")))
			compare(t, d.Abs("f"), must(d.Verify(ref)))
			check(t, change(d))
			if _, err := d.ReadRef(ref); failure.KindOf(err) != failure.Tampered {
				t.Errorf("read: got %v, want tampered", err)
			}
			if _, err := d.Verify(ref); failure.KindOf(err) != failure.Tampered {
				t.Errorf("verify: got %v, want tampered", err)
			}
		})
	}
}

func TestReadLimit(t *testing.T) {
	_, d := openDir(t, "s")
	check(t, d.Replace("f", []byte("12345")))
	compare(t, "12345", string(must(d.Read("f", 5))))
	_, err := d.Read("f", 4)
	require(t, errors.Is(err, store.ErrTooLarge), err)
	_, err = d.Read("absent", 4)
	require(t, errors.Is(err, fs.ErrNotExist) && strings.Contains(err.Error(), d.Abs("absent")), err)
}

func TestReadRefusesPipesAndDirectories(t *testing.T) {
	_, d := openDir(t, "s")
	check(t, syscall.Mkfifo(d.Abs("pipe"), 0o644))
	check(t, d.Mkdir("dir"))
	for _, name := range []string{"pipe", "dir"} {
		got, err := d.Read(name, 10)
		require(t, err != nil, name, string(got))
	}
}

// Sync makes regular files of an agent durable and ignores others.
func TestSyncIgnoresOtherFiles(t *testing.T) {
	_, d := openDir(t, "s")
	check(t, errors.Join(d.Replace("it/file", []byte("text")), syscall.Mkfifo(d.Abs("it/pipe"), 0o644), d.Mkdir("it/dir"), os.Symlink("/etc/passwd", d.Abs("it/link"))))
	check(t, d.Sync("it", "file", "pipe", "dir", "link", "absent"))
	err := d.Sync("absent", "file")
	require(t, errors.Is(err, fs.ErrNotExist), err)
}

func TestPathsStayInSession(t *testing.T) {
	p, d := openDir(t, "s")
	secret := filepath.Join(t.TempDir(), "secret")
	check(t, os.WriteFile(secret, []byte("secret"), 0o600))
	for link, target := range map[string]string{"file": secret, "dir": filepath.Dir(secret), "up": "../../.."} {
		check(t, os.Symlink(target, d.Abs(link)))
	}
	for _, name := range []string{"file", "dir/secret", "up/x", "../other", "/etc/hostname", "a/../../x"} {
		got, err := d.Read(name, 100)
		require(t, err != nil, name, string(got))
		if name != "file" { // a link that is replaced is no way out
			_, err := d.Write(name, []byte("x"))
			require(t, err != nil, name)
		}
		err = d.Append(name, []byte("x"))
		require(t, err != nil, name)
	}
	if got, _ := os.ReadFile(secret); string(got) != "secret" {
		t.Errorf("the file outside is now %q", got)
	}
	check(t, os.Symlink(filepath.Dir(secret), p.Abs(store.RunsDir+"/linked")))
	_, err := p.Open("linked")
	require(t, err != nil, "opened a session that is a link out of the project")
}

func TestReplaceIsAtomic(t *testing.T) {
	_, d := openDir(t, "s")
	texts := [][]byte{bytes.Repeat([]byte("a"), 1<<16), bytes.Repeat([]byte("b"), 1<<15)}
	check(t, d.Replace("f", texts[0]))
	var wg sync.WaitGroup
	for _, text := range texts {
		wg.Go(func() {
			for range 50 {
				if err := d.Replace("f", text); err != nil {
					t.Error(err)
				}
			}
		})
	}
	for range 100 {
		got, err := d.Read("f", 1<<20)
		if err != nil || !bytes.Equal(got, texts[0]) && !bytes.Equal(got, texts[1]) {
			t.Fatalf("saw %d bytes, %v", len(got), err)
		}
	}
	wg.Wait()
	names := list(t, d, ".")
	require(t, cmp.Equal(names, []string{"f"}), names)
}

func list(t *testing.T, d *store.Dir, dir string) []string {
	t.Helper()
	entries := must(d.Entries(dir))
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

func TestFailedWriteLeavesNothing(t *testing.T) {
	_, d := openDir(t, "s")
	check(t, d.Mkdir("taken/x"))
	_, err := d.Write("taken", []byte("x"))
	require(t, err != nil, "a directory was replaced by a file")
	names := list(t, d, ".")
	require(t, cmp.Equal(names, []string{"taken"}), names)
	check(t, d.Replace("f", nil))
	err = d.Replace("f/g", nil)
	require(t, err != nil && strings.Contains(err.Error(), "a file is there"), err)
	for _, flag := range []int{os.O_RDWR, os.O_RDWR | os.O_CREATE} {
		_, err := d.OpenFile("f/g", flag)
		require(t, err != nil && strings.Contains(err.Error(), "a file is there"), flag, err)
	}
}

func TestSweepTemps(t *testing.T) {
	_, d := openDir(t, "s")
	for _, name := range []string{".tmp-ABC", "stage-00-a/iterations/001/.tmp-DEF", "stage-00-a/.tmpfile", "keep"} {
		check(t, d.Replace(name, []byte("x")))
	}
	n, err := d.SweepTemps()
	require(t, n == 2 && err == nil, n, err)
	names := list(t, d, ".")
	require(t, cmp.Equal(names, []string{"keep", "stage-00-a"}), names)
	names = list(t, d, "stage-00-a")
	require(t, cmp.Equal(names, []string{".tmpfile", "iterations"}), names)
}

func TestAppend(t *testing.T) {
	_, d := openDir(t, "s")
	for _, line := range []string{"one", "two"} {
		check(t, d.Append("a/log", []byte(line)))
	}
	check(t, d.Replace("torn", []byte("whole\nto")))
	check(t, d.Append("torn", []byte("next")))
	for name, want := range map[string]string{"a/log": "one\ntwo\n", "torn": "whole\nto\nnext\n"} {
		got, err := d.Read(name, 100)
		require(t, err == nil && string(got) == want, name, string(got), err)
	}
}

func TestProgressHeaders(t *testing.T) {
	_, d := openDir(t, "demo")
	ensure := func() (names []string) {
		for _, f := range []func() (string, error){
			d.EnsureSessionProgress,
			func() (string, error) { return d.EnsureStageProgress("stage-00-plan") },
			func() (string, error) { return d.EnsureProviderProgress("parallel-01-b/providers/claude", "claude") },
		} {
			name := must(f())
			names = append(names, name)
		}
		return names
	}
	names := ensure()
	want := []string{
		"# Progress: demo\n\nVerify: (none)\n\n## Codebase Patterns\n(Add patterns discovered during implementation here)\n\n---\n\n",
		"# Stage Progress\n\n---\n",
		"# Progress: demo (claude)\n\nProvider: claude\n\n---\n\n",
	}
	for i, name := range names {
		got, err := d.Read(name, 1000)
		require(t, err == nil && string(got) == want[i], name, string(got), err)
		check(t, d.Append(name, []byte("learned")))
	}
	ensure()
	for i, name := range names {
		got, err := d.Read(name, 1000)
		require(t, err == nil && string(got) == want[i]+"learned\n", name, string(got), err)
	}
}

func TestPrivateDirectory(t *testing.T) {
	_, d := openDir(t, "s")
	name := store.Node("stage-00-a").Iteration(1).Attempt(1)
	check(t, d.MkdirPrivate(name))
	check(t, d.MkdirPrivate(name))
	info := must(d.Stat(name))
	compare(t, 0o700, info.Mode().Perm())
}

func TestSessionRemovedWhileRunning(t *testing.T) {
	acts := map[string]func(d *store.Dir) error{
		"write":   func(d *store.Dir) error { _, err := d.Write("a/f", nil); return err },
		"replace": func(d *store.Dir) error { return d.Replace(store.StateFile, nil) },
		"append":  func(d *store.Dir) error { return d.Append("f", nil) },
		"read":    func(d *store.Dir) error { _, err := d.Read("f", 1); return err },
		"list":    func(d *store.Dir) error { _, err := d.Entries("."); return err },
		"list in": func(d *store.Dir) error { _, err := d.Entries(store.InboxDir); return err },
		"intact":  func(d *store.Dir) error { return d.CheckIntact() },
	}
	for name, act := range acts {
		for _, again := range []bool{false, true} {
			_, d := openDir(t, "s")
			check(t, d.CheckIntact())
			check(t, os.RemoveAll(d.Path()))
			if again { // another owner's session now
				check(t, os.Mkdir(d.Path(), 0o755))
			}
			err := act(d)
			require(t, failure.KindOf(err) == failure.StateCorrupt && strings.Contains(err.Error(), d.Path()), name, again, err)
		}
	}
}

func TestReplaceByParts(t *testing.T) {
	_, d := openDir(t, "s")
	for _, tt := range []struct {
		parts [][]byte
		want  string
	}{
		{[][]byte{[]byte("a"), nil, []byte("bc\n")}, "abc\n"},
		{[][]byte{[]byte("shorter")}, "shorter"},
		{nil, ""},
	} {
		check(t, d.Replace("file", tt.parts...))
		got, err := d.Read("file", 100)
		require(t, err == nil && string(got) == tt.want, string(got), err)
	}
}

func TestClear(t *testing.T) {
	_, d := openDir(t, "s")
	for _, name := range []string{"new", "dir/new", "new"} { // the last file exists by then
		check(t, d.Clear(name))
		got, err := d.Read(name, 100)
		require(t, err == nil && len(got) == 0, name, string(got), err)
		check(t, d.Replace(name, []byte("text")))
	}
	check(t, os.Mkdir(d.Abs("taken"), 0o750))
	err := d.Clear("taken")
	require(t, err != nil, "a directory was cleared")
}

func TestMkdirNew(t *testing.T) {
	_, d := openDir(t, "s")
	for i, tt := range []struct {
		name  string
		fresh bool
	}{{"a", true}, {"a", false}, {"b/c", true}, {"b", false}, {"b/d", true}} {
		fresh, err := d.MkdirNew(tt.name)
		require(t, err == nil && fresh == tt.fresh, i, fresh, err)
	}
	check(t, d.Replace("file", nil))
	_, err := d.MkdirNew("file")
	require(t, err != nil, "a file was taken for a directory")
}

// A directory in the place of a file is reported with its whole path and a hint.
func TestDirectoryAtFilePath(t *testing.T) {
	_, d := openDir(t, "s")
	check(t, os.Mkdir(d.Abs("state.json"), 0o700))
	_, written := d.Write("state.json", []byte("{}"))
	for name, err := range map[string]error{
		"write": written, "replace": d.Replace("state.json", []byte("{}")), "append": d.Append("state.json", []byte("{}")),
	} {
		f := failure.From(err)
		require(t, err != nil && f.Kind == failure.StateCorrupt && strings.Contains(f.Message, d.Abs("state.json")+": is a directory") && f.Hint != "", name, err, f.Kind, f.Hint)
	}
	left, err := os.ReadDir(d.Abs("."))
	require(t, err == nil && len(left) == 1, left, err)
}

// An agent may write below its attempt's directory. A link there leads the engine to no other file of the session.
func TestSessionFollowsNoLinkToWrite(t *testing.T) {
	_, d := openDir(t, "s")
	check(t, d.Replace("state.json", []byte("state")))
	check(t, errors.Join(d.Mkdir("attempts"), os.Symlink("..", d.Abs("attempts/02")), os.Symlink("../state.json", d.Abs("attempts/stream"))))
	for _, name := range []string{"attempts/02/state.json", "attempts/stream"} {
		_, err := d.OpenFile(name, os.O_CREATE|os.O_TRUNC|os.O_WRONLY)
		require(t, err != nil, name)
	}
	err := d.Replace("attempts/02/state.json", []byte("forged"))
	require(t, err != nil, "written through a link")
	check(t, d.Replace("attempts/stream", []byte("forged"))) // takes the link's place
	require(t, string(must(os.ReadFile(d.Abs("state.json")))) == "state", "the state was changed")
}

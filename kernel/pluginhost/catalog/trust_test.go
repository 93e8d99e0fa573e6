package catalog

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
)

func sum(s string) string {
	h := sha256.Sum256([]byte(s))
	return hex.EncodeToString(h[:])
}

func program(t *testing.T, name, content string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	check(t, os.WriteFile(path, []byte(content), 0o700))
	return path
}

func TestOpenTakesTheDigestOfTheOpenFile(t *testing.T) {
	path := program(t, "agent-plugin-x", "one")
	b := must(NewVerifier(NewCache("")).Open(path))
	defer b.Close()
	check(t, os.Rename(program(t, "other", "two"), path))
	content, err := io.ReadAll(b.File)
	require(t, err == nil && string(content) == "one" && b.SHA256 == sum("one"), string(content), err, b.SHA256)
}

func TestOpenSeesEveryChange(t *testing.T) {
	v := NewVerifier(NewCache(""))
	path := program(t, "agent-plugin-x", "one")
	for _, content := range []string{"one", "two", "six"} {
		check(t, os.WriteFile(path, []byte(content), 0o700))
		b := must(v.Open(path))
		require(t, b.SHA256 == sum(content), content, b.SHA256)
		_ = b.Close()
	}
}

func TestOpenRefuses(t *testing.T) {
	dir := t.TempDir()
	plain := filepath.Join(dir, "plain")
	check(t, os.WriteFile(plain, []byte("x"), 0o600))
	tests := []struct {
		name, path string
		kind       failure.Kind
		message    string
	}{
		{"missing", filepath.Join(dir, "missing"), failure.ProviderMissing, "does not exist"},
		{"directory", dir, failure.PluginInvalid, "a directory"},
		{"not executable", plain, failure.PluginInvalid, "not executable"},
		{"empty", program(t, "agent-plugin-empty", ""), failure.PluginInvalid, "empty"},
		{"device", "/dev/null", failure.PluginInvalid, "not a regular file"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := NewVerifier(NewCache("")).Open(tt.path)
			f := failure.From(err)
			require(t, f != nil && f.Kind == tt.kind && strings.Contains(f.Message, tt.message) && strings.Contains(f.Message, tt.path) && f.Hint != "", f)
		})
	}
}

func TestLockedDigest(t *testing.T) {
	path := program(t, "agent-plugin-x", "one")
	locks := func(path, name, platform, digest string) Lock {
		return Lock{Path: path, Plugins: map[string]map[string]string{name: {platform: digest}}}
	}
	right, wrong := locks("user.lock", "agent-plugin-x", Platform(), sum("one")), locks("wrong.lock", "agent-plugin-x", Platform(), sum("two"))
	elsewhere := locks("", "agent-plugin-x", "plan9/mips", sum("two"))
	elsewhere.Set("agent-plugin-y", Platform(), sum("two"))
	tests := []struct {
		name  string
		locks []Lock
		ok    bool
		want  LockStatus
	}{
		{"nothing locked", []Lock{{}}, true, LockStatus{Locked: LockedNo}},
		{"locked", []Lock{right}, true, LockStatus{LockedYes, "user.lock", sum("one")}},
		{"locked to another", []Lock{wrong}, false, LockStatus{LockedMismatch, "wrong.lock", sum("two")}},
		{"other plugin and platform", []Lock{elsewhere}, true, LockStatus{Locked: LockedNo}},
		{"the project adds", []Lock{{}, wrong}, false, LockStatus{LockedMismatch, "wrong.lock", sum("two")}},
		{"the project cannot overrule", []Lock{right, wrong}, true, LockStatus{LockedYes, "user.lock", sum("one")}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			b, err := NewVerifier(NewCache(""), tt.locks...).Open(path)
			if err == nil {
				_ = b.Close()
			}
			require(t, (err == nil) == tt.ok, err)
			compare(t, tt.want, NewVerifier(NewCache(""), tt.locks...).LockStatus("agent-plugin-x", sum("one")))
			if tt.ok {
				return
			}
			f := failure.From(err)
			compare(t, failure.PluginUntrusted, f.Kind)
			for _, part := range []string{sum("one"), sum("two"), "wrong.lock", path} {
				require(t, strings.Contains(f.Message, part), f.Message, part)
			}
			require(t, strings.Contains(f.Hint, "wrong.lock"), f.Hint)
		})
	}
}

func TestLockFile(t *testing.T) {
	s := Store{Dir: filepath.Join(t.TempDir(), "config")}
	if l, err := s.Lock(); err != nil || len(l.Plugins) != 0 {
		t.Fatalf("Lock without a file = %+v, %v", l, err)
	}
	err := s.ChangeLock(s.LockPath(), func(l Lock) {
		l.Set("agent-plugin-x", "linux/amd64", sum("one"))
		l.Set("agent-plugin-y", "linux/amd64", sum("two"))
	})
	check(t, err)
	check(t, s.ChangeLock(s.LockPath(), func(l Lock) { l.Set("agent-plugin-y", "linux/amd64", "") }))
	b := must(os.ReadFile(s.LockPath()))
	want := fmt.Sprintf(`{
  "version": 1,
  "plugins": {
    "agent-plugin-x": {
      "linux/amd64": "%s"
    }
  }
}
`, sum("one"))
	compare(t, want, string(b))
	compare(t, 0o600, must(os.Stat(s.LockPath())).Mode().Perm())
}

func TestParseLockRefuses(t *testing.T) {
	for _, in := range []string{
		``, `{}`, `[]`, `{"version":2,"plugins":{}}`, `{"version":1,"plugins":{"a":{"linux/amd64":"short"}}}`,
		`{"version":1,"plugins":{"a":{"linux/amd64":"` + strings.ToUpper(sum("x")) + `"}}}`,
	} {
		l, err := parseLock([]byte(in))
		require(t, err != nil, in, l)
	}
}

func TestDamagedFilesAreNotEmpty(t *testing.T) {
	s := Store{Dir: t.TempDir()}
	for _, name := range []string{LockFile, TrustedFile} {
		check(t, os.WriteFile(filepath.Join(s.Dir, name), []byte("{"), 0o600))
	}
	_, lockErr := s.Lock()
	_, trustErr := s.IsTrusted(s.Dir)
	for _, err := range []error{lockErr, trustErr, s.Trust(s.Dir), s.ChangeLock(s.LockPath(), func(Lock) {})} {
		require(t, failure.KindOf(err) == failure.PluginUntrusted, err)
	}
}

func TestTrust(t *testing.T) {
	s := Store{Dir: filepath.Join(t.TempDir(), "config")}
	project := t.TempDir()
	below := filepath.Join(project, "a", "b")
	sibling := project + "-more"
	for _, d := range []string{below, sibling} {
		check(t, os.MkdirAll(d, 0o700))
	}
	link := filepath.Join(t.TempDir(), "link")
	check(t, os.Symlink(project, link))
	trusted := func(dir string) bool {
		t.Helper()
		return must(s.IsTrusted(dir))
	}
	require(t, !trusted(project), "trusted without a command")
	for range 2 {
		check(t, s.Trust(link))
	}
	got := map[string]bool{"itself": trusted(project), "below": trusted(below), "beside": trusted(sibling), "above": trusted(filepath.Dir(project))}
	want := map[string]bool{"itself": true, "below": true, "beside": false, "above": false}
	compare(t, want, got)
	dirs, _ := s.Trusted()
	require(t, len(dirs) == 1, dirs)
	was, err := s.Distrust(link)
	require(t, err == nil && was && !trusted(project), was, err)
	was, err = s.Distrust(filepath.Join(project, "missing"))
	require(t, err == nil && !was, was, err)
	err = s.Trust(filepath.Join(project, "missing"))
	require(t, err != nil, "a directory that does not exist was trusted")
}

func TestConcurrentChangesAreNotLost(t *testing.T) {
	s := Store{Dir: t.TempDir()}
	var wait sync.WaitGroup
	for i := range 8 {
		wait.Go(func() {
			if err := s.ChangeLock(s.LockPath(), func(l Lock) { l.Set(fmt.Sprint("p", i), "linux/amd64", sum("x")) }); err != nil {
				t.Error(err)
			}
		})
	}
	wait.Wait()
	l, err := s.Lock()
	require(t, err == nil && len(l.Plugins) == 8, len(l.Plugins), err)
}

func FuzzParseLock(f *testing.F) {
	f.Add([]byte(`{"version":1,"plugins":{"agent-plugin-x":{"linux/amd64":"` + sum("x") + `"}}}`))
	f.Add([]byte(`{"version":1}`))
	f.Add([]byte(`{`))
	f.Fuzz(func(t *testing.T, b []byte) {
		l, err := parseLock(b)
		if err != nil {
			return
		}
		out := must(json.Marshal(l))
		back := must(parseLock(out))
		for plugin, digests := range l.Plugins {
			for platform, want := range digests {
				if got, _ := back.Digest(plugin, platform); got != want {
					t.Errorf("%s, %s: %s came back as %s", plugin, platform, want, got)
				}
			}
		}
	})
}

// U301: reason and remedy for a plugin's file that cannot be opened.
func TestOpenFault(t *testing.T) {
	for _, tt := range []struct {
		err           error
		kind          failure.Kind
		message, hint string
	}{
		{errReplaced, failure.PluginInvalid, "cannot be started", "resume"},
		{&os.PathError{Op: "open", Path: "/p/x", Err: syscall.ENOENT}, failure.ProviderMissing, "does not exist", "plugins list"},
		{&os.PathError{Op: "open", Path: "/p/x", Err: syscall.EACCES}, failure.PluginInvalid, "cannot be read", "chmod u+rx /p/x"},
		{&os.PathError{Op: "open", Path: "/p/x", Err: syscall.EMFILE}, failure.PluginInvalid, "open plugin /p/x", ""},
	} {
		t.Run(tt.err.Error(), func(t *testing.T) {
			f := failure.From(openError("/p/x", tt.err))
			require(t, f.Kind == tt.kind && strings.Contains(f.Message, tt.message) && strings.Contains(f.Hint, tt.hint) && errors.Is(f, tt.err), f)
		})
	}
}

// A failed write of the user's files names the path and keeps the content.
func TestStoreThatCannotWrite(t *testing.T) {
	dir := t.TempDir()
	taken := filepath.Join(dir, "taken")
	check(t, os.WriteFile(taken, nil, 0o600))
	err := (Store{Dir: taken}).Trust(dir)
	require(t, err != nil && strings.Contains(err.Error(), taken), err)
	err = (Store{Dir: dir}).Trust(filepath.Join(dir, "gone"))
	require(t, errors.Is(err, os.ErrNotExist), err)
	file := filepath.Join(dir, LockFile)
	check(t, os.MkdirAll(filepath.Join(file, "x"), 0o700))
	s := Store{Dir: dir}
	err = s.ChangeLock(s.LockPath(), func(Lock) {})
	require(t, failure.KindOf(err) == failure.PluginUntrusted && strings.Contains(err.Error(), file), err)
	err = writeJSON(file, 0o600, 1)
	require(t, err != nil && strings.Contains(err.Error(), file), err)
	if left, err := filepath.Glob(filepath.Join(dir, ".*")); err != nil || len(left) > 1 { // only .trust.lock may stay
		t.Errorf("left behind: %v, %v", left, err)
	}
}

// A file of a later version is refused and does not count as empty.
func TestTrustFileOfLaterVersion(t *testing.T) {
	s := Store{Dir: t.TempDir()}
	file := filepath.Join(s.Dir, TrustedFile)
	check(t, os.WriteFile(file, []byte(`{"version":2,"directories":["/"]}`), 0o600))
	dirs, err := s.Trusted()
	require(t, failure.KindOf(err) == failure.PluginUntrusted && strings.Contains(err.Error(), "version 2"), dirs, err)
	if err := s.Trust(s.Dir); failure.KindOf(err) != failure.PluginUntrusted {
		t.Errorf("trust: %v", err)
	}
	ok, err := s.IsTrusted(s.Dir)
	require(t, !ok && err != nil, ok, err)
}

// A file written by hand is read with care: an empty or relative entry trusts nothing, an unclean one is that directory.
func TestTrustFileWrittenByHand(t *testing.T) {
	s, dir := Store{Dir: t.TempDir()}, must(realPath(t.TempDir()))
	for entries, want := range map[string]bool{`""`: false, `".", "x/.."`: false, strconv.Quote(dir + "/"): true, strconv.Quote(dir + "/x/.."): true} {
		check(t, os.WriteFile(filepath.Join(s.Dir, TrustedFile), []byte(`{"version":1,"directories":[`+entries+`]}`), 0o600))
		ok, err := s.IsTrusted(dir)
		require(t, ok == want && err == nil, entries, ok, err)
	}
}

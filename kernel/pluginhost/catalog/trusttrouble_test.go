package catalog

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
)

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
			if f.Kind != tt.kind || !strings.Contains(f.Message, tt.message) || !strings.Contains(f.Hint, tt.hint) || !errors.Is(f, tt.err) {
				t.Errorf("failure %+v", f)
			}
		})
	}
}

// A failed write of the user's files names the path and keeps the content.
func TestStoreThatCannotWrite(t *testing.T) {
	dir := t.TempDir()
	taken := filepath.Join(dir, "taken")
	check(t, os.WriteFile(taken, nil, 0o600))
	if err := (Store{Dir: taken}).Trust(dir); err == nil || !strings.Contains(err.Error(), taken) {
		t.Errorf("a file in the place of the directory: %v", err)
	}
	if err := (Store{Dir: dir}).Trust(filepath.Join(dir, "gone")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("trust in a directory that is not there: %v", err)
	}
	file := filepath.Join(dir, LockFile)
	check(t, os.MkdirAll(filepath.Join(file, "x"), 0o700))
	s := Store{Dir: dir}
	if err := s.ChangeLock(s.LockPath(), func(Lock) {}); failure.KindOf(err) != failure.PluginUntrusted || !strings.Contains(err.Error(), file) {
		t.Errorf("a lock that cannot be read: %v", err)
	}
	if err := writeJSON(file, 0o600, 1); err == nil || !strings.Contains(err.Error(), file) {
		t.Errorf("a lock that cannot be written: %v", err)
	}
	if left, err := filepath.Glob(filepath.Join(dir, ".*")); err != nil || len(left) > 1 { // the guard alone
		t.Errorf("left behind: %v, %v", left, err)
	}
}

// A file of a later version is refused and does not count as empty.
func TestTrustedOfTheFuture(t *testing.T) {
	s := Store{Dir: t.TempDir()}
	file := filepath.Join(s.Dir, TrustedFile)
	check(t, os.WriteFile(file, []byte(`{"version":2,"directories":["/"]}`), 0o600))
	if dirs, err := s.Trusted(); failure.KindOf(err) != failure.PluginUntrusted || !strings.Contains(err.Error(), "version 2") {
		t.Errorf("trusted %v, %v", dirs, err)
	}
	if err := s.Trust(s.Dir); failure.KindOf(err) != failure.PluginUntrusted {
		t.Errorf("trust: %v", err)
	}
	if ok, err := s.IsTrusted(s.Dir); ok || err == nil {
		t.Errorf("trusted: %v, %v", ok, err)
	}
}

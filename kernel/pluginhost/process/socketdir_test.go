package process

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/dodo-digital/agent-pipelines/kernel/store"
)

func TestSocketDir(t *testing.T) {
	short := shortDir(t)
	long := filepath.Join(short, strings.Repeat("x", MaxSocketDir))
	if err := os.Mkdir(long, 0o700); err != nil {
		t.Fatal(err)
	}

	dir, err := NewSocketDir("", long, filepath.Join(short, "missing"), short)
	if err != nil {
		t.Fatalf("NewSocketDir: %v", err)
	}
	if filepath.Dir(dir.Path()) != short {
		t.Errorf("NewSocketDir = %s, want a directory below %s", dir.Path(), short)
	}
	info, err := os.Stat(dir.Path())
	if err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("mode of %s is %v (%v), want 0700", dir.Path(), info.Mode(), err)
	}
	if taken, err := filepath.Match("agent-pipelines-[0-9]*", filepath.Base(dir.Path())); taken || err != nil {
		t.Errorf("kernels that look for no lock in %s would sweep it while it is in use", dir.Path())
	}
	if err := dir.Remove(); err != nil || exists(dir.Path()) {
		t.Errorf("Remove: %v, there: %t", err, exists(dir.Path()))
	}
	if _, err := NewSocketDir(long); !errors.Is(err, ErrSocketDirTooLong) {
		t.Errorf("NewSocketDir(long) error %v, want %v", err, ErrSocketDirTooLong)
	}
}

// D1: the directories of a killed kernel are removed by the next one; those in use or of others stay.
func TestSweepSocketDirs(t *testing.T) {
	base := shortDir(t)
	used, err := NewSocketDir(base)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = used.Remove() })
	killed, err := NewSocketDir(base)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(killed.Path(), "plugin123"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := killed.lock.Close(); err != nil { // as the end of the process does
		t.Fatal(err)
	}
	elsewhere := filepath.Join(shortDir(t), "file")
	if err := errors.Join(os.WriteFile(elsewhere, nil, 0o600), os.Mkdir(filepath.Join(base, socketDirPrefix+"1"), 0o700),
		os.Symlink(elsewhere, filepath.Join(base, socketDirPrefix+"1", socketDirLock))); err != nil {
		t.Fatal(err)
	}
	// A kernel was killed while it made one (old), or is making one (new); some are no socket directories.
	old := time.Now().Add(-unfinishedAfter)
	lay := func(name string, made time.Time, files ...string) string {
		dir := filepath.Join(base, socketDirPrefix+name)
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		for _, f := range files {
			if err := os.WriteFile(filepath.Join(dir, f), nil, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.Chtimes(dir, made, made); err != nil {
			t.Fatal(err)
		}
		return dir
	}
	want := map[string]bool{
		used.Path(): true, killed.Path(): false, elsewhere: true,
		lay("2", old): false, lay("3", old, "lock-12"): false, lay("4", time.Now()): true, lay("5", time.Now(), "lock-12"): true,
		lay("6notes", old): true, lay("7", old, "notes"): true, lay("8", old, "lock-12", "notes"): true,
	}
	held := lay("9", old, "lock-12")
	holder, err := os.Open(filepath.Join(held, "lock-12"))
	if err != nil {
		t.Fatal(err)
	}
	defer holder.Close()
	if err := store.TryFlock(holder); err != nil {
		t.Fatal(err)
	}
	want[held] = true

	if err := SweepSocketDirs("", filepath.Join(base, "missing"), base); err != nil {
		t.Error(err)
	}
	for path, want := range want {
		if exists(path) != want {
			t.Errorf("%s is there: %t, want %t", path, exists(path), want)
		}
	}
}

// A sweep never removes the directory that a kernel is making.
func TestSocketDirsWhileOthersSweep(t *testing.T) {
	base := shortDir(t)
	var workers sync.WaitGroup
	for range 4 {
		workers.Go(func() {
			for range 50 {
				dir, err := NewSocketDir(base)
				if err != nil {
					t.Error(err)
					return
				}
				if err := SweepSocketDirs(base); err != nil {
					t.Error(err)
				}
				if !exists(dir.Path()) {
					t.Errorf("%s is gone", dir.Path())
				}
				if err := dir.Remove(); err != nil {
					t.Error(err)
				}
			}
		})
	}
	workers.Wait()
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

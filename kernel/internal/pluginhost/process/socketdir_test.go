package process

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
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

// D1: what a killed kernel left is removed by the next one; what is in use, or of somebody else, stays.
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
	other := filepath.Join(base, socketDirPrefix+"2notes")
	if err := os.Mkdir(other, 0o700); err != nil {
		t.Fatal(err)
	}

	if err := SweepSocketDirs("", filepath.Join(base, "missing"), base); err != nil {
		t.Error(err)
	}
	for path, want := range map[string]bool{used.Path(): true, killed.Path(): false, elsewhere: true, other: true} {
		if exists(path) != want {
			t.Errorf("%s is there: %t, want %t", path, exists(path), want)
		}
	}
}

// A sweep never takes the directory of a kernel that is just making it.
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

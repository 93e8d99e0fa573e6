package store

import (
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"
)

func openStore(t *testing.T) *Store {
	t.Helper()
	p := must(OpenProject(t.TempDir()))
	t.Cleanup(func() { _ = p.Close() })
	return p.Store
}

// A cached directory is used only while it is the directory at its path.
func TestMovedDirectory(t *testing.T) {
	tests := map[string]func(s *Store) error{
		"moved":           func(s *Store) error { return os.Rename(s.Abs("a/b"), s.Abs("moved")) },
		"removed":         func(s *Store) error { return os.RemoveAll(s.Abs("a/b")) },
		"its parent":      func(s *Store) error { return os.Rename(s.Abs("a"), s.Abs("moved")) },
		"replaced":        func(s *Store) error { return swapDir(s, "dir") },
		"replaced by one": func(s *Store) error { return swapDir(s, "link") },
	}
	for name, move := range tests {
		t.Run(name, func(t *testing.T) {
			s := openStore(t)
			must(s.Write("a/b/f", []byte("old")))
			check(t, move(s))
			must(s.Write("a/b/f", []byte("new")))
			if b, err := os.ReadFile(s.Abs("a/b/f")); err != nil || string(b) != "new" {
				t.Errorf("at its path lies %q, %v", b, err)
			}
		})
	}
}

// swapDir puts another directory, or a link to one, in the place of a/b.
func swapDir(s *Store, by string) error {
	if err := os.Rename(s.Abs("a/b"), s.Abs("moved")); err != nil {
		return err
	}
	if by == "dir" {
		return os.Mkdir(s.Abs("a/b"), 0o755)
	}
	if err := os.Mkdir(s.Abs("other"), 0o755); err != nil {
		return err
	}
	return os.Symlink("../other", s.Abs("a/b"))
}

// A link in a cached directory may lead anywhere in the store, but not out of it.
func TestLinkInDirectory(t *testing.T) {
	s := openStore(t)
	outside := filepath.Join(t.TempDir(), "f")
	check(t, os.WriteFile(outside, []byte("outside"), 0o600))
	must(s.Write("a/b/near", []byte("near")))
	must(s.Write("far", []byte("far")))
	for name, target := range map[string]string{"a/b/1": "near", "a/b/2": "../../far", "a/b/3": outside, "a/b/4": "../../../f"} {
		check(t, os.Symlink(target, s.Abs(name)))
	}
	for name, want := range map[string]string{"a/b/1": "near", "a/b/2": "far"} {
		if got, err := s.Read(name, 100); err != nil || string(got) != want {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
	for _, name := range []string{"a/b/3", "a/b/4"} {
		if got, err := s.Read(name, 100); err == nil {
			t.Errorf("%s leads out of the store to %q", name, got)
		}
	}
}

// Few directories stay open, and none after the store is closed.
func TestOpenDirectoriesAreBounded(t *testing.T) {
	s := openStore(t)
	before := openFileCount(t)
	var wg sync.WaitGroup
	for worker := range 8 {
		wg.Go(func() {
			for i := range 50 {
				name := fmt.Sprintf("%d/%d/f", worker, i%10)
				if err := s.Replace(name, []byte(name)); err != nil {
					t.Error(err)
				}
				if got, err := s.Read(name, 100); err != nil || string(got) != name {
					t.Errorf("%s: %q, %v", name, got, err)
				}
			}
		})
	}
	wg.Wait()
	if now := openFileCount(t); now > before+maxOpenDirs {
		t.Errorf("%d descriptors more", now-before)
	}
	if len(s.synced.names) > maxSyncedDirs {
		t.Errorf("%d directories are remembered", len(s.synced.names))
	}
	s.dirs.close()
	if now := openFileCount(t); now > before {
		t.Errorf("%d descriptors left", now-before)
	}
}

// openFileCount returns the number of open files, on Linux and macOS.
func openFileCount(t *testing.T) int {
	t.Helper()
	return len(must(os.ReadDir("/dev/fd")))
}

// A directory is synced into its parent once, and again after it is made again.
func TestDirectoryIsSyncedOnce(t *testing.T) {
	s := openStore(t)
	for _, step := range []struct {
		name string
		do   func() error
		want bool
	}{
		{"made", func() error { return s.Mkdir("a/b") }, false},
		{"a file replaced", func() error { return s.Replace("a/b/f", nil) }, false},
		{"a file written", func() error { _, err := s.Write("a/b/f", nil); return err }, true},
		{"removed and made again", func() error { _ = os.RemoveAll(s.Abs("a/b")); return s.Mkdir("a/b") }, false},
		{"settled", func() error { return s.SyncTree("a/b") }, true},
		{"made once more", func() error { _ = os.RemoveAll(s.Abs("a/b")); return s.Mkdir("a/b") }, false},
		{"anchored", func() error { return s.SyncParents("a/b") }, true},
	} {
		check(t, step.do())
		if got := s.synced.has("a/b"); got != step.want {
			t.Errorf("%s: settled is %t", step.name, got)
		}
	}
}

// A directory counts as durable only when all its parents are.
func TestDirectoryOfUnsyncedParents(t *testing.T) {
	s := openStore(t)
	check(t, s.Mkdir("a/b/c"))
	if err := s.syncDir("a/b"); err != nil { // so that it is kept open
		t.Fatal(err)
	}
	above := must(s.acquireDir("a"))
	s.dirs.release(above)
	_ = above.root.Close() // which can no longer be synced
	if err := s.SyncParents("a/b/c"); err == nil || s.synced.has("a/b/c") {
		t.Errorf("%v, settled is %t", err, s.synced.has("a/b/c"))
	}
}

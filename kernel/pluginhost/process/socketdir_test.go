package process

import (
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

func TestSocketDir(t *testing.T) {
	short := shortDir(t)
	long := filepath.Join(short, strings.Repeat("x", MaxSocketDir))
	check(t, os.Mkdir(long, 0o700))

	dir := must(NewSocketDir("", long, filepath.Join(short, "missing"), short))
	compare(t, short, filepath.Dir(dir.Path()))
	info, err := os.Stat(dir.Path())
	require(t, err == nil && info.Mode().Perm() == 0o700, dir.Path(), info.Mode(), err)
	err = dir.Remove()
	require(t, err == nil && !exists(dir.Path()), err, exists(dir.Path()))
	_, err = NewSocketDir(long)
	require(t, errors.Is(err, ErrSocketDirTooLong), err, ErrSocketDirTooLong)
}

// D1: the directories of a killed kernel are removed by the next kernel; directories in use and other files stay.
func TestSweepSocketDirs(t *testing.T) {
	base := shortDir(t)
	used := must(NewSocketDir(base))
	t.Cleanup(func() { _ = used.Remove() })
	killed := must(NewSocketDir(base))
	check(t, os.WriteFile(filepath.Join(killed.Path(), "plugin123"), nil, 0o600))
	if err := killed.lock.Close(); err != nil { // as the end of the process does
		t.Fatal(err)
	}
	// The first is from a kernel killed while it made the directory; the others are not socket directories.
	elsewhere, named := shortDir(t), func(name string) string { return filepath.Join(base, socketDirPrefix+name) }
	if err := errors.Join(os.Mkdir(named("1"), 0o700), os.Mkdir(named("2notes"), 0o700), os.WriteFile(named("3"), nil, 0o600),
		os.Symlink(elsewhere, named("4"))); err != nil {
		t.Fatal(err)
	}
	want := map[string]bool{
		used.Path(): true, killed.Path(): false, elsewhere: true, named("1"): false, named("2notes"): true, named("3"): true, named("4"): true,
	}
	check(t, SweepSocketDirs("", filepath.Join(base, "missing"), base))
	for path, want := range want {
		require(t, exists(path) == want, path, exists(path))
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

// shortDir returns a directory short enough for a socket's name, which t.TempDir may not be.
func shortDir(t *testing.T) string {
	t.Helper()
	dir := must(os.MkdirTemp("/tmp", "ap")) //nolint:usetesting // the length matters here
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

func TestPluginToHost(t *testing.T) {
	c := New(nil, Spec{Path: "p"})
	c.Configure(nil, "/run/d")
	tests := []struct {
		network, address string
		ok               bool
	}{
		{"unix", "/run/d/plugin1", true},
		{"unix", "/run/plugin1", false},
		{"unix", "/run/d/../x", false},
		{"unix", "/run/d/deeper/x", false},
		{"tcp", "127.0.0.1:80", false},
	}
	for _, tt := range tests {
		_, _, err := c.PluginToHost(tt.network, tt.address)
		require(t, (err == nil) == tt.ok, err)
	}
}

func TestCheckPeer(t *testing.T) {
	dir := must(NewSocketDir(os.TempDir(), "/tmp"))
	t.Cleanup(func() { _ = dir.Remove() })
	l := must(net.Listen("unix", filepath.Join(dir.Path(), "s")))
	defer l.Close()
	conn := must(net.Dial("unix", l.Addr().String()))
	defer conn.Close()
	if err := CheckPeer(conn); err != nil {
		t.Errorf("CheckPeer(own socket) = %v", err)
	}
	a, b := net.Pipe()
	defer a.Close()
	defer b.Close()
	err := CheckPeer(a)
	require(t, err != nil, "CheckPeer accepts what is no unix socket")
}

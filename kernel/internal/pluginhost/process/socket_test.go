package process

import (
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestSocketDir(t *testing.T) {
	short := shortDir(t)
	long := filepath.Join(short, strings.Repeat("x", MaxSocketDir))
	if err := os.Mkdir(long, 0o700); err != nil {
		t.Fatal(err)
	}

	dir, err := SocketDir("", long, filepath.Join(short, "missing"), short)
	if err != nil {
		t.Fatalf("SocketDir: %v", err)
	}
	if filepath.Dir(dir) != short {
		t.Errorf("SocketDir = %s, want a directory below %s", dir, short)
	}
	info, err := os.Stat(dir)
	if err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("mode of %s is %v (%v), want 0700", dir, info.Mode(), err)
	}
	if _, err := SocketDir(long); !errors.Is(err, ErrSocketDirTooLong) {
		t.Errorf("SocketDir(long) error %v, want %v", err, ErrSocketDirTooLong)
	}
}

// shortDir is a directory that leaves room for a socket's name, which t.TempDir may not.
func shortDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("/tmp", "ap") //nolint:usetesting // the length matters here
	if err != nil {
		t.Fatal(err)
	}
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
		if _, _, err := c.PluginToHost(tt.network, tt.address); (err == nil) != tt.ok {
			t.Errorf("PluginToHost(%s, %s) error %v, want ok %v", tt.network, tt.address, err, tt.ok)
		}
	}
}

func TestCheckPeer(t *testing.T) {
	dir, err := SocketDir(os.TempDir(), "/tmp")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	l, err := net.Listen("unix", filepath.Join(dir, "s"))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	conn, err := net.Dial("unix", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if err := CheckPeer(conn); err != nil {
		t.Errorf("CheckPeer(own socket) = %v", err)
	}
	a, b := net.Pipe()
	defer a.Close()
	defer b.Close()
	if err := CheckPeer(a); err == nil {
		t.Error("CheckPeer accepts what is no unix socket")
	}
}

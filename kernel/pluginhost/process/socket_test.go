package process

import (
	"net"
	"os"
	"path/filepath"
	"testing"
)

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
		if _, _, err := c.PluginToHost(tt.network, tt.address); (err == nil) != tt.ok {
			t.Errorf("PluginToHost(%s, %s) error %v, want ok %v", tt.network, tt.address, err, tt.ok)
		}
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
	if err := CheckPeer(a); err == nil {
		t.Error("CheckPeer accepts what is no unix socket")
	}
}

package process

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
)

// MaxSocketDir is the longest directory in which a plugin's socket is opened: the name of a Unix
// socket has room for 104 bytes on macOS and 108 on Linux, and go-plugin adds a name of its own.
const MaxSocketDir = 80

// socketDirName is the room that go-plugin's own directory ("plugin-dir" and up to ten digits) takes.
const socketDirName = len("/plugin-dir0123456789")

// ErrSocketDirTooLong is returned by [SocketDir] when no candidate is short enough.
var ErrSocketDirTooLong = errors.New("no temporary directory is short enough for a unix socket")

// SocketDir makes a directory with mode 0700 below the first of the candidates that exists and is
// short enough. The caller removes it. Empty candidates are skipped.
func SocketDir(candidates ...string) (string, error) {
	fault := ErrSocketDirTooLong
	for _, base := range candidates {
		if base == "" || len(base)+len("/agent-pipelines-0123456789")+socketDirName > MaxSocketDir {
			continue
		}
		dir, err := os.MkdirTemp(base, "agent-pipelines-")
		if err == nil {
			return dir, nil
		}
		fault = err
	}
	return "", fmt.Errorf("make a socket directory: %w", fault)
}

// PluginToHost refuses every address but a socket in the plugin's own private directory.
func (c *Child) PluginToHost(network, address string) (hostNet, hostAddr string, err error) {
	if network != "unix" {
		return "", "", fmt.Errorf("listens on %s %s; a plugin listens on a unix socket", network, address)
	}
	if filepath.Dir(address) != filepath.Clean(c.socketDir) {
		return "", "", fmt.Errorf("listens on %s, outside the directory that it was given", address)
	}
	return network, address, nil
}

// CheckPeer makes sure that the other end of a Unix socket is a process of this user. Where the
// system does not tell (see [Limits]), the private directory is the only guard.
func CheckPeer(conn net.Conn) error {
	u, ok := conn.(*net.UnixConn)
	if !ok {
		return fmt.Errorf("%s is no unix socket", conn.RemoteAddr())
	}
	uid, known, err := peerUID(u)
	if err != nil {
		return fmt.Errorf("ask for the owner of %s: %w", conn.RemoteAddr(), err)
	}
	if known && uid != os.Geteuid() {
		return fmt.Errorf("%s is served by user %d, not by this user", conn.RemoteAddr(), uid)
	}
	return nil
}

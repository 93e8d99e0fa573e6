package process

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
)

// PluginToHost refuses every address but a socket in the plugin's own private directory.
func (c *Process) PluginToHost(network, address string) (hostNet, hostAddr string, err error) {
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

package process

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/dodo-digital/agent-pipelines/kernel/failpoint"
	"github.com/dodo-digital/agent-pipelines/kernel/store"
)

// MaxSocketDir is the maximum length in bytes of the directory in which a plugin's socket is opened. The name of a Unix
// socket has at most 104 bytes on macOS and 108 on Linux, and go-plugin adds a name of its own.
const MaxSocketDir = 80

// socketDirName is the length of go-plugin's own directory name ("plugin-dir" and up to ten digits).
const socketDirName = len("/plugin-dir0123456789")

// socketDirPrefix begins the names of socket directories; digits follow.
const socketDirPrefix = "agent-pipelines-socket-"

// ErrSocketDirTooLong is in the chain of the error of [NewSocketDir] when no candidate is short enough.
var ErrSocketDirTooLong = errors.New("no temporary directory is short enough for a unix socket")

// errSocketDirTaken says that another process has locked or removed the directory.
var errSocketDirTaken = errors.New("another process locked or removed the directory")

// makeTries is the maximum number of attempts: a sweep of another kernel may take a new directory before it is locked.
const makeTries = 10

// SocketDir is a private directory for a plugin's socket. It is locked while its kernel lives, so that later kernels
// recognize the directories of killed kernels.
type SocketDir struct {
	path string
	lock *os.File // the directory itself
}

// NewSocketDir makes a directory with mode 0700 below the first of the candidates that exists and is
// short enough. Empty candidates are skipped. The caller removes it.
func NewSocketDir(candidates ...string) (*SocketDir, error) {
	fault := ErrSocketDirTooLong
	for _, base := range candidates {
		if base == "" || len(base)+len("/"+socketDirPrefix+"0123456789")+socketDirName > MaxSocketDir {
			continue
		}
		dir, err := makeSocketDir(base)
		if err == nil {
			return dir, nil
		}
		fault = err
	}
	return nil, fmt.Errorf("make a socket directory: %w", fault)
}

func makeSocketDir(base string) (*SocketDir, error) {
	var fault error
	for range makeTries {
		path, err := os.MkdirTemp(base, socketDirPrefix)
		if err != nil {
			return nil, err
		}
		failpoint.Point("socketdir.make.before-lock")
		dir, err := lockSocketDir(path)
		if err == nil {
			return dir, nil
		}
		fault = errors.Join(err, os.RemoveAll(path))
	}
	return nil, fault
}

// lockSocketDir locks the directory at path. A kernel that has just made it may lose it to a sweep, which then
// removes it.
func lockSocketDir(path string) (*SocketDir, error) {
	dir, err := os.OpenFile(path, os.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW, 0)
	if err != nil {
		return nil, err
	}
	if err = store.TryFlock(dir); err == nil {
		locked, statErr := dir.Stat()
		current, pathErr := os.Lstat(path)
		if statErr == nil && pathErr == nil && os.SameFile(locked, current) {
			return &SocketDir{path: path, lock: dir}, nil
		}
		err = errSocketDirTaken
	}
	return nil, errors.Join(err, dir.Close())
}

// Path returns the absolute path of the directory.
func (d *SocketDir) Path() string { return d.path }

// Remove removes the directory with its content.
func (d *SocketDir) Remove() error {
	return errors.Join(os.RemoveAll(d.path), d.lock.Close())
}

// SweepSocketDirs removes the socket directories of killed kernels below the candidates. Directories in use and
// those of other users stay.
func SweepSocketDirs(candidates ...string) error {
	var errs []error
	for _, base := range candidates {
		if base == "" {
			continue
		}
		entries, err := os.ReadDir(base)
		if err != nil { // it need not exist
			continue
		}
		for _, e := range entries {
			number, ours := strings.CutPrefix(e.Name(), socketDirPrefix)
			if !ours || strings.Trim(number, "0123456789") != "" {
				continue
			}
			if dir, err := lockSocketDir(filepath.Join(base, e.Name())); err == nil {
				errs = append(errs, dir.Remove())
			}
		}
	}
	return errors.Join(errs...)
}

// PluginToHost refuses every address but a socket in the plugin's own private directory.
func (c *Process) PluginToHost(network, address string) (hostNet, hostAddr string, err error) {
	if network != "unix" {
		return "", "", fmt.Errorf("listens on %s %s; a plugin listens on a unix socket", network, address)
	}
	if filepath.Dir(address) != filepath.Clean(c.socketDir) {
		return "", "", fmt.Errorf("listens on %s, outside its socket directory", address)
	}
	return network, address, nil
}

// CheckPeer returns an error unless the other end of a Unix socket is a process of this user. Where the system does not
// report the user, the private directory is the only protection.
func CheckPeer(conn net.Conn) error {
	u, ok := conn.(*net.UnixConn)
	if !ok {
		return fmt.Errorf("%s is not a Unix socket", conn.RemoteAddr())
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

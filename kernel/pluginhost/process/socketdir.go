package process

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/dodo-digital/agent-pipelines/kernel/failpoint"
	"github.com/dodo-digital/agent-pipelines/kernel/store"
)

// MaxSocketDir is the longest directory in which a plugin's socket is opened, in bytes: the name of a Unix
// socket has at most 104 bytes on macOS and 108 on Linux, and go-plugin adds a name of its own.
const MaxSocketDir = 80

// socketDirName is the length of go-plugin's own directory name ("plugin-dir" and up to ten digits).
const socketDirName = len("/plugin-dir0123456789")

// socketDirPrefix begins the names of socket directories; digits follow.
const socketDirPrefix = "agent-pipelines-socket-"

// ErrSocketDirTooLong is returned by [NewSocketDir] when no candidate is short enough.
var ErrSocketDirTooLong = errors.New("no temporary directory is short enough for a unix socket")

// socketDirLock is the file in a socket directory that its kernel keeps locked.
const socketDirLock = "kernel.lock"

// socketDirNewLock begins the name of the lock before it is held.
const socketDirNewLock = "lock-"

// unfinishedAfter is the age from which a directory without a lock counts as left by a kernel that was killed
// while making it, which takes microseconds.
const unfinishedAfter = time.Minute

// SocketDir is a private directory for a plugin's socket. A file in it is locked while its kernel lives, so
// that later kernels recognize the directories of killed ones.
type SocketDir struct {
	path string
	lock *os.File
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

// makeSocketDir gives the lock its name when it is held, so that no sweep finds it free.
func makeSocketDir(base string) (*SocketDir, error) {
	path, err := os.MkdirTemp(base, socketDirPrefix)
	if err != nil {
		return nil, err
	}
	failpoint.Point("socketdir.make.before-lock")
	lock, err := os.CreateTemp(path, socketDirNewLock)
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(path))
	}
	d := &SocketDir{path: path, lock: lock}
	err = store.TryFlock(lock)
	failpoint.Point("socketdir.make.before-rename")
	if err = errors.Join(err, os.Rename(lock.Name(), filepath.Join(path, socketDirLock))); err != nil {
		return nil, errors.Join(err, d.Remove())
	}
	return d, nil
}

// Path returns the absolute path of the directory.
func (d *SocketDir) Path() string { return d.path }

// Remove removes the directory with its content.
func (d *SocketDir) Remove() error {
	return errors.Join(os.RemoveAll(d.path), d.lock.Close())
}

// SweepSocketDirs removes the socket directories of killed kernels below the candidates. Directories in use,
// of other users, or without a kernel's lock stay. An empty one, or one with an unnamed lock only, is removed
// if it is older than a minute.
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
			path := filepath.Join(base, e.Name())
			if !strings.HasPrefix(e.Name(), socketDirPrefix) {
				continue
			}
			if lock := acquireStaleLock(filepath.Join(path, socketDirLock)); lock != nil {
				errs = append(errs, (&SocketDir{path: path, lock: lock}).Remove())
			} else if strings.Trim(e.Name()[len(socketDirPrefix):], "0123456789") == "" {
				sweepUnfinished(path)
			}
		}
	}
	return errors.Join(errs...)
}

// sweepUnfinished removes a directory whose kernel was killed before its lock had its name. It stays if
// anything else is written into it meanwhile.
func sweepUnfinished(path string) {
	info, err := os.Lstat(path)
	if err != nil || !info.IsDir() || time.Since(info.ModTime()) < unfinishedAfter {
		return
	}
	entries, err := os.ReadDir(path)
	if err != nil || len(entries) > 1 { // of another user; of something else
		return
	}
	if len(entries) == 1 && strings.HasPrefix(entries[0].Name(), socketDirNewLock) {
		lock := acquireStaleLock(filepath.Join(path, entries[0].Name()))
		if lock == nil {
			return
		}
		defer lock.Close()
		_ = os.Remove(lock.Name())
	}
	_ = os.Remove(path)
}

// acquireStaleLock takes a lock that no process holds; nil for one in use, of another user, or removed by another
// sweep.
func acquireStaleLock(path string) *os.File {
	f, err := os.OpenFile(path, os.O_RDWR|unix.O_NOFOLLOW, 0)
	if err != nil {
		return nil
	}
	if store.TryFlock(f) == nil {
		locked, err := f.Stat()
		current, statErr := os.Lstat(path)
		if err == nil && statErr == nil && os.SameFile(locked, current) {
			return f
		}
	}
	_ = f.Close()
	return nil
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

// CheckPeer returns an error unless the other end of a Unix socket is a process of this user. Where the system
// does not report it, the private directory is the only protection.
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

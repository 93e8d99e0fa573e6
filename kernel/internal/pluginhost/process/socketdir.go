package process

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"github.com/dodo-digital/agent-pipelines/kernel/internal/filelock"
)

// MaxSocketDir is the longest directory in which a plugin's socket is opened: the name of a Unix
// socket has room for 104 bytes on macOS and 108 on Linux, and go-plugin adds a name of its own.
const MaxSocketDir = 80

// socketDirName is the room that go-plugin's own directory ("plugin-dir" and up to ten digits) takes.
const socketDirName = len("/plugin-dir0123456789")

// socketDirPrefix begins the names of socket directories; digits follow.
const socketDirPrefix = "agent-pipelines-"

// ErrSocketDirTooLong is returned by [NewSocketDir] when no candidate is short enough.
var ErrSocketDirTooLong = errors.New("no temporary directory is short enough for a unix socket")

// SocketDir is a private directory for a plugin's socket. It is locked while its kernel lives, so that
// later ones can tell those that a killed kernel left.
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

// makeSocketDir tries again where a sweep took the new directory for one that was left, in the moment
// before it was locked.
func makeSocketDir(base string) (*SocketDir, error) {
	for {
		path, err := os.MkdirTemp(base, socketDirPrefix)
		if err != nil {
			return nil, err
		}
		lock, err := lockSocketDir(path)
		if err == nil {
			return &SocketDir{path: path, lock: lock}, nil
		}
		if !errors.Is(err, filelock.ErrHeld) && !errors.Is(err, os.ErrNotExist) {
			return nil, errors.Join(err, os.RemoveAll(path))
		}
	}
}

// lockSocketDir opens and locks a directory. The error wraps os.ErrNotExist if it is gone when it is
// locked, and filelock.ErrHeld if somebody has it.
func lockSocketDir(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW, 0)
	if err != nil {
		return nil, err
	}
	if err := filelock.Try(f); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	locked, err := f.Stat()
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	there, err := os.Lstat(path)
	if err == nil && !os.SameFile(locked, there) {
		err = os.ErrNotExist
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// Path is the absolute path of the directory.
func (d *SocketDir) Path() string { return d.path }

// Remove removes the directory with all that is in it.
func (d *SocketDir) Remove() error {
	return errors.Join(os.RemoveAll(d.path), d.lock.Close())
}

// SweepSocketDirs removes the socket directories below the candidates that killed kernels left. Those in
// use, and those of other users, stay.
func SweepSocketDirs(candidates ...string) error {
	var errs []error
	for _, base := range candidates {
		if base == "" {
			continue
		}
		left, err := filepath.Glob(filepath.Join(base, socketDirPrefix+"[0-9]*"))
		if err != nil { // base has a character that means something in a pattern
			continue
		}
		for _, path := range left {
			lock, err := lockSocketDir(path)
			if err != nil { // in use, of another user, or being removed
				continue
			}
			errs = append(errs, (&SocketDir{path: path, lock: lock}).Remove())
		}
	}
	return errors.Join(errs...)
}

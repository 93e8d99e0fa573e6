package catalog

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
)

// The files in the user's configuration directory.
const (
	LockFile    = "plugins.lock"
	TrustedFile = "trusted.json"
)

// Store reads and writes the trust files of the user's configuration directory. It caches nothing; several
// programs may use one directory at the same time.
type Store struct {
	// Dir is the directory, usually ~/.config/agent-pipelines. It is made at the first write.
	Dir string
}

type trustedFile struct {
	Version     int      `json:"version"`
	Directories []string `json:"directories"`
}

// LockPath returns the path of plugins.lock.
func (s Store) LockPath() string { return filepath.Join(s.Dir, LockFile) }

// Lock reads plugins.lock; a missing file locks nothing. A damaged file is a failure of kind plugin_untrusted.
func (s Store) Lock() (Lock, error) { return ReadLock(s.LockPath()) }

// ReadLock reads a lock from any file, such as a project's.
func ReadLock(path string) (Lock, error) {
	b, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return Lock{Path: path}, nil
	}
	if err != nil {
		return Lock{}, damagedError(path, err)
	}
	l, err := parseLock(b)
	if err != nil {
		return Lock{}, damagedError(path, err)
	}
	l.Path = path
	return l, nil
}

// ChangeLock replaces plugins.lock by the result of change; no other program can write in between.
func (s Store) ChangeLock(change func(Lock) Lock) error {
	return s.changeLock(s.LockPath(), 0o600, change)
}

// ChangeProjectLock is [Store.ChangeLock] for the lock of a project at path, which is readable by all users.
func (s Store) ChangeProjectLock(path string, change func(Lock) Lock) error {
	return s.changeLock(path, 0o644, change)
}

func (s Store) changeLock(path string, mode fs.FileMode, change func(Lock) Lock) error {
	return s.withLock(func() error {
		l, err := ReadLock(path)
		if err != nil {
			return err
		}
		b, err := change(l).Marshal()
		if err != nil {
			return err
		}
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return fmt.Errorf("write %s: %w", path, err)
		}
		return replaceFile(path, mode, b)
	})
}

// Trusted lists the directories that the user trusts, sorted; a missing file trusts nothing.
func (s Store) Trusted() ([]string, error) {
	b, err := os.ReadFile(s.trustedPath())
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, damagedError(s.trustedPath(), err)
	}
	var f trustedFile
	if err := json.Unmarshal(b, &f); err != nil {
		return nil, damagedError(s.trustedPath(), err)
	}
	if f.Version != 1 {
		return nil, damagedError(s.trustedPath(), fmt.Errorf("version %d is not supported", f.Version))
	}
	return f.Directories, nil
}

// Trust records that the user trusts dir and everything below it.
func (s Store) Trust(dir string) error {
	resolved, err := realPath(dir)
	if err != nil {
		return err
	}
	return s.changeTrusted(func(dirs []string) []string { return append(dirs, resolved) })
}

// Distrust removes dir and reports whether it was trusted; a trusted parent directory still covers it. The
// directory need not exist.
func (s Store) Distrust(dir string) (was bool, err error) {
	resolved, err := realPath(dir)
	if errors.Is(err, fs.ErrNotExist) {
		resolved, err = filepath.Abs(dir)
	}
	if err != nil {
		return false, err
	}
	err = s.changeTrusted(func(dirs []string) []string {
		was = slices.Contains(dirs, resolved)
		return slices.DeleteFunc(dirs, func(d string) bool { return d == resolved })
	})
	return was, err
}

// IsTrusted reports whether dir or a directory above it is trusted. Symbolic links are followed first.
func (s Store) IsTrusted(dir string) (bool, error) {
	dirs, err := s.Trusted()
	if err != nil {
		return false, err
	}
	resolved, err := realPath(dir)
	if err != nil {
		return false, err
	}
	return slices.ContainsFunc(dirs, func(d string) bool { return Within(resolved, d) }), nil
}

func (s Store) changeTrusted(change func(dirs []string) []string) error {
	return s.withLock(func() error {
		dirs, err := s.Trusted()
		if err != nil {
			return err
		}
		dirs = change(dirs)
		slices.Sort(dirs)
		b, err := json.MarshalIndent(trustedFile{Version: 1, Directories: slices.Compact(dirs)}, "", "  ")
		if err != nil {
			return err
		}
		return WriteFile(s.trustedPath(), append(b, '\n'))
	})
}

func (s Store) trustedPath() string { return filepath.Join(s.Dir, TrustedFile) }

func damagedError(path string, err error) error {
	return failure.New(failure.PluginUntrusted, "read %s: %w", path, err).
		WithHint("repair the file, or remove it and lock or trust again")
}

// withLock calls f while a file lock beside the files is held.
func (s Store) withLock(f func() error) error {
	if err := os.MkdirAll(s.Dir, 0o700); err != nil {
		return fmt.Errorf("make the configuration directory: %w", err)
	}
	guard, err := os.OpenFile(filepath.Join(s.Dir, ".trust.lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return fmt.Errorf("open the lock of the trust files: %w", err)
	}
	defer guard.Close()
	if err := syscall.Flock(int(guard.Fd()), syscall.LOCK_EX); err != nil {
		return fmt.Errorf("lock %s: %w", guard.Name(), err)
	}
	return f()
}

// WriteFile writes a private file (mode 0600) in one step: a reader sees the old or the new content.
func WriteFile(path string, content []byte) error { return replaceFile(path, 0o600, content) }

func replaceFile(path string, mode fs.FileMode, content []byte) (err error) {
	tmp, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*") // mode 0600
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	defer func() {
		if err != nil {
			_ = os.Remove(tmp.Name())
			err = fmt.Errorf("write %s: %w", path, err)
		}
	}()
	_, err = tmp.Write(content)
	if err = errors.Join(err, tmp.Chmod(mode), tmp.Sync(), tmp.Close()); err != nil {
		return err
	}
	return os.Rename(tmp.Name(), path)
}

// realPath returns the absolute path of an existing file or directory with all symbolic links resolved.
func realPath(path string) (string, error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	return filepath.EvalSymlinks(abs)
}

// Within reports whether path is dir or below it; both are real, absolute paths.
func Within(path, dir string) bool {
	rel, err := filepath.Rel(dir, path)
	return err == nil && rel != ".." && !strings.HasPrefix(rel, ".."+string(filepath.Separator))
}

package catalog

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/dodo-digital/agent-pipelines/kernel/sandboxpolicy"
	"github.com/dodo-digital/agent-pipelines/kernel/store"
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
	l, err := readConfig(path, parseLock)
	l.Version, l.Path = lockVersion, path
	if l.Plugins == nil {
		l.Plugins = map[string]map[string]string{}
	}
	return l, err
}

// ChangeLock reads the lock at path, calls change and writes the lock; no other Store can write it in between. The path
// is plugins.lock or the lock of a project, which is readable by all users.
func (s Store) ChangeLock(path string, change func(Lock)) error {
	return s.withLock(func() error {
		l, err := ReadLock(path)
		if err != nil {
			return err
		}
		change(l)
		if path == s.LockPath() {
			return writeJSON(path, 0o600, l)
		}
		return writeJSON(path, 0o644, l)
	})
}

// Trusted lists the directories that the user trusts, sorted; a missing file trusts nothing.
func (s Store) Trusted() ([]string, error) {
	f, err := readConfig(s.trustedPath(), parseTrusted)
	return f.Directories, err
}

func parseTrusted(b []byte) (f trustedFile, err error) {
	if err = json.Unmarshal(b, &f); err == nil && f.Version != 1 {
		err = fmt.Errorf("version %d is not supported", f.Version)
	}
	f.Directories = slices.DeleteFunc(f.Directories, func(d string) bool { return !filepath.IsAbs(d) })
	for i, d := range f.Directories {
		f.Directories[i] = filepath.Clean(d)
	}
	return f, err
}

// readConfig reads a file of the user's configuration; a missing file has the zero value.
func readConfig[T any](path string, parse func([]byte) (T, error)) (v T, err error) {
	b, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return v, nil
	}
	if err == nil {
		v, err = parse(b)
	}
	if err != nil {
		return v, failure.New(failure.PluginUntrusted, "read %s: %w", path, err).
			WithHint("repair the file, or remove it and lock or trust again")
	}
	return v, nil
}

// Trust records that the user trusts dir and everything below it.
func (s Store) Trust(dir string) error {
	resolved, err := realPath(dir)
	if err != nil {
		return err
	}
	return s.changeTrusted(func(dirs []string) []string { return append(dirs, resolved) })
}

// Distrust removes dir from the trusted directories and reports whether it was one of them. A trusted parent directory
// still covers it. The directory need not exist.
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
	return slices.ContainsFunc(dirs, func(d string) bool { return sandboxpolicy.Within(resolved, d) }), nil
}

func (s Store) changeTrusted(change func(dirs []string) []string) error {
	return s.withLock(func() error {
		dirs, err := s.Trusted()
		if err != nil {
			return err
		}
		dirs = change(dirs)
		slices.Sort(dirs)
		return writeJSON(s.trustedPath(), 0o600, trustedFile{Version: 1, Directories: slices.Compact(dirs)})
	})
}

func (s Store) trustedPath() string { return filepath.Join(s.Dir, TrustedFile) }

// withLock calls f while it holds a file lock in Dir.
func (s Store) withLock(f func() error) error {
	release, err := s.Guard(context.Background(), ".trust.lock")
	if err != nil {
		return err
	}
	defer release()
	return f()
}

// Guard makes Dir and locks a file in it by name. It waits for the lock until ctx ends. The caller calls release.
func (s Store) Guard(ctx context.Context, name string) (release func(), err error) {
	if err := os.MkdirAll(s.Dir, 0o700); err != nil {
		return nil, fmt.Errorf("make the configuration directory: %w", err)
	}
	f, err := os.OpenFile(filepath.Join(s.Dir, name), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("lock the configuration directory: %w", err)
	}
	if err := store.Flock(ctx, f); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return func() { _ = f.Close() }, nil
}

// writeJSON makes the directory of a file and replaces the file in one step: a reader sees the old or the new content.
// A new directory may be listed by the users who may read the file.
func writeJSON(path string, mode fs.FileMode, v any) (err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("write %s: %w", path, err)
		}
	}()
	content, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), mode|mode>>2&0o111); err != nil {
		return err
	}
	tmp, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*") // mode 0600
	if err != nil {
		return err
	}
	_, err = tmp.Write(append(content, '\n'))
	if err = errors.Join(err, tmp.Chmod(mode), tmp.Sync(), tmp.Close()); err == nil {
		err = os.Rename(tmp.Name(), path)
	}
	if err != nil {
		_ = os.Remove(tmp.Name())
	}
	return err
}

// realPath returns the absolute path of an existing file or directory with all symbolic links resolved.
func realPath(path string) (string, error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	return filepath.EvalSymlinks(abs)
}

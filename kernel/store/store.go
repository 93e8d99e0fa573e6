package store

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"sync"
	"syscall"

	"github.com/dodo-digital/agent-pipelines/kernel/failpoint"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
)

// Modes of new directories and files, less the user's umask. Private directories hold the data that only the
// kernel and one plugin exchange.
const (
	dirMode     fs.FileMode = 0o755
	fileMode    fs.FileMode = 0o644
	privateMode fs.FileMode = 0o700
)

// Store is a directory whose files are read and written by names relative to it, with slashes. No name leads
// out of it. It is safe for concurrent use.
type Store struct {
	root  *os.Root
	path  string                      // absolute, as the user gave it
	label string                      // for messages
	self  func() (fs.FileInfo, error) // file info of the open directory, read once

	dirs   dirCache
	synced syncedDirs
}

func newStore(root *os.Root, path, label string) *Store {
	return &Store{root: root, path: path, label: label, self: sync.OnceValues(func() (fs.FileInfo, error) { return root.Stat(".") })}
}

// Path returns the absolute path of the directory.
func (s *Store) Path() string { return s.path }

// Abs returns the absolute path of a name in the store.
func (s *Store) Abs(name string) string { return filepath.Join(s.path, filepath.FromSlash(name)) }

// Close closes the directory. Files opened from it stay open.
func (s *Store) Close() error {
	s.dirs.close()
	return s.root.Close()
}

// Stat describes a file; the error wraps [fs.ErrNotExist] if there is none.
func (s *Store) Stat(name string) (fs.FileInfo, error) {
	info, err := s.stat(name)
	return info, s.wrapError("inspect "+name, err)
}

func (s *Store) stat(name string) (info fs.FileInfo, err error) {
	err = s.withDir(name, func(root *os.Root, base string) (err error) {
		info, err = root.Stat(base)
		return err
	})
	return info, err
}

// OpenFile opens a file as [os.OpenFile] does and makes its directory if flag has [os.O_CREATE].
func (s *Store) OpenFile(name string, flag int) (*os.File, error) {
	f, err := s.open(name, flag)
	if err != nil && flag&os.O_CREATE != 0 {
		if err := s.mkdirAll(path.Dir(name), dirMode); err != nil {
			return nil, s.wrapError("open "+name, err)
		}
		f, err = s.open(name, flag)
	}
	if errors.Is(err, syscall.ENOTDIR) {
		err = cmp.Or(s.fileInPath(path.Dir(name)), err)
	}
	return f, s.wrapError("open "+name, err)
}

// fileInPath returns an error if a file is where a directory should be, nil otherwise.
func (s *Store) fileInPath(dir string) error {
	if info, err := s.root.Stat(filepath.FromSlash(dir)); err == nil && !info.IsDir() {
		return &fs.PathError{Op: "mkdir", Path: dir, Err: errors.New("a file is there")}
	}
	return nil
}

func (s *Store) open(name string, flag int) (f *os.File, err error) {
	if flag&os.O_CREATE != 0 {
		failpoint.Point("rundir.open.before")
		failpoint.BeforeWrite(s.path, name)
	}
	err = s.withDir(name, func(root *os.Root, base string) (err error) {
		f, err = root.OpenFile(base, flag, fileMode)
		return err
	})
	return f, err
}

// Entries lists a directory in the order of names. A missing directory is empty, unless it is the store's own.
func (s *Store) Entries(name string) ([]fs.DirEntry, error) {
	entries, err := fs.ReadDir(s.root.FS(), name)
	if errors.Is(err, fs.ErrNotExist) && !s.isGone() {
		return nil, nil
	}
	return entries, s.wrapError("list "+name, err)
}

// MkdirPrivate makes a directory that only the user may enter, and its parents.
func (s *Store) MkdirPrivate(name string) error {
	_, err := s.mkdirFresh(path.Dir(name), dirMode)
	if err == nil {
		_, err = s.mkdirFresh(name, privateMode)
	}
	return s.wrapError("make "+name, err)
}

// Mkdir makes a directory and its parents.
func (s *Store) Mkdir(name string) error {
	return s.wrapError("make "+name, s.mkdirAll(name, dirMode))
}

// MkdirNew makes a directory and its parents, and reports whether nothing existed at the name before.
func (s *Store) MkdirNew(name string) (fresh bool, err error) {
	fresh, err = s.mkdirFresh(name, dirMode)
	return fresh && err == nil, s.wrapError("make "+name, err)
}

// mkdirFresh is mkdirAll for a directory that is expected to be missing.
func (s *Store) mkdirFresh(name string, mode fs.FileMode) (fresh bool, err error) {
	err = s.mkdir(name, mode)
	missing := errors.Is(err, fs.ErrNotExist) // one above it
	if missing || errors.Is(err, fs.ErrExist) {
		return missing, s.mkdirAll(name, mode)
	}
	return err == nil, err
}

// Remove removes a file or an empty directory; a missing one is no error.
func (s *Store) Remove(name string) error {
	failpoint.Point("rundir.remove.before")
	failpoint.BeforeRemove(s.path, name)
	err := s.withDir(name, (*os.Root).Remove)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return s.wrapError("remove "+name, err)
	}
	failpoint.Point("rundir.remove.after")
	return nil
}

// Rename moves a file or directory within the store and replaces an existing file.
func (s *Store) Rename(from, to string) error {
	return s.wrapError("rename "+from, s.rename(from, to))
}

func (s *Store) rename(from, to string) error {
	err := s.withDir(from, func(root *os.Root, base string) error { _, err := root.Lstat(base); return err })
	if err != nil {
		return err
	}
	if err := s.mkdirAll(path.Dir(to), dirMode); err != nil {
		return err
	}
	failpoint.Point("rundir.rename.before")
	failpoint.BeforeRename(s.path, from, to)
	if err := s.root.Rename(filepath.FromSlash(from), filepath.FromSlash(to)); err != nil {
		return err
	}
	failpoint.Point("rundir.rename.after")
	return nil
}

// CheckIntact returns nil while the open directory is still the one at its path.
func (s *Store) CheckIntact() error {
	if s.isGone() {
		return s.wrapError("use it", fs.ErrNotExist)
	}
	return nil
}

// mkdirAll makes name and its missing parents. It syncs nothing; the first durable file in the directory does.
func (s *Store) mkdirAll(name string, mode fs.FileMode) error {
	p, err := s.acquireDir(name)
	if err == nil {
		s.dirs.release(p)
		return nil
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return cmp.Or(s.fileInPath(name), err)
	}
	if s.isGone() {
		return err
	}
	if parent := path.Dir(name); parent != name {
		if err := s.mkdirAll(parent, dirMode); err != nil {
			return err
		}
	}
	if err := s.mkdir(name, mode); !errors.Is(err, fs.ErrExist) {
		return err
	}
	return nil
}

// mkdir makes one directory in an existing one.
func (s *Store) mkdir(name string, mode fs.FileMode) error {
	s.synced.remove(name)
	if err := s.withDir(name, func(root *os.Root, base string) error { return root.Mkdir(base, mode) }); err != nil {
		return err
	}
	failpoint.AfterMkdir(s.path, name)
	failpoint.Point("rundir.mkdir.made")
	return nil
}

// isGone reports whether the directory was removed or replaced at its path. While it is open, no other
// directory can have its identity.
func (s *Store) isGone() bool {
	ours, err := s.self()
	if err != nil {
		return true
	}
	current, err := os.Stat(s.path)
	return err != nil || !os.SameFile(ours, current)
}

// wrapError adds the failed action to an error, nil for nil. If the whole directory is gone, it says so instead of
// blaming one file.
func (s *Store) wrapError(act string, err error) error {
	if err == nil {
		return nil
	}
	if errors.Is(err, fs.ErrNotExist) && s.isGone() {
		return failure.New(failure.StateCorrupt, "%s: the %s %s was removed or replaced while in use: %w", act, s.label, s.path, err).
			WithHint("nothing more can be recorded there; put it back and resume, or start the session again")
	}
	err = fmt.Errorf("%s: %w", act, s.absError(err))
	switch hint, system := failure.SystemHint(err); {
	case errors.Is(err, syscall.EROFS):
		return failure.New(failure.StateCorrupt, "%w", err).WithHint("%s", writableHint)
	case system:
		return failure.New(failure.StateCorrupt, "%w", err).WithHint("%s", hint)
	case errors.Is(err, syscall.EISDIR):
		return failure.New(failure.StateCorrupt, "%w", err).WithHint("a directory is in the place of the file; move it away")
	case errors.Is(err, fs.ErrPermission):
		return failure.From(err).WithHint("%s", writableHint)
	}
	return err
}

// writableHint is the hint for a directory without write access.
const writableHint = "sessions need a .claude folder that can be written"

// absError replaces a relative path in a path error by the absolute one.
func (s *Store) absError(err error) error {
	var pe *fs.PathError
	if errors.As(err, &pe) && !filepath.IsAbs(pe.Path) {
		return &fs.PathError{Op: pe.Op, Path: s.Abs(pe.Path), Err: pe.Err}
	}
	return err
}

// acquireDir opens an existing directory of the store; the caller calls [dirCache.release]. A cached directory
// that was moved or removed is opened again.
func (s *Store) acquireDir(dir string) (*cachedDir, error) {
	if dir == "." {
		return &cachedDir{dir: dir, root: s.root}, nil
	}
	if p := s.dirs.acquire(dir); p != nil {
		if current, err := os.Stat(s.Abs(dir)); err == nil && os.SameFile(p.info, current) {
			return p, nil
		}
		s.dirs.evict(p)
		s.dirs.release(p)
	}
	root, err := s.openSubdir(dir)
	if err != nil {
		return nil, err
	}
	info, err := root.Stat(".")
	if err != nil {
		return nil, errors.Join(err, root.Close())
	}
	p := &cachedDir{dir: dir, root: root, info: info, uses: 1}
	s.dirs.add(p)
	return p, nil
}

// openSubdir opens a directory through its parent.
func (s *Store) openSubdir(dir string) (root *os.Root, err error) {
	if path.Dir(dir) == dir { // the top of all directories, which is refused
		return s.root.OpenRoot(filepath.FromSlash(dir))
	}
	err = s.withDir(dir, func(above *os.Root, base string) (err error) {
		root, err = above.OpenRoot(base)
		return err
	})
	return root, err
}

// withDir calls f with an open directory and a base name that together are the name in the store. Other errors
// than existence are retried from the store's own directory, because a symbolic link may lead out of the
// subdirectory but not out of the store.
func (s *Store) withDir(name string, f func(root *os.Root, base string) error) error {
	p, err := s.acquireDir(path.Dir(name))
	if err == nil {
		err = f(p.root, path.Base(name))
		s.dirs.release(p)
	}
	if err == nil || errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrExist) {
		return prefixDir(path.Dir(name), err)
	}
	return f(s.root, filepath.FromSlash(name))
}

// prefixDir puts the directory before the name in a path error that has only a base name.
func prefixDir(dir string, err error) error {
	var pe *fs.PathError
	if errors.As(err, &pe) && !filepath.IsAbs(pe.Path) && filepath.ToSlash(filepath.Dir(pe.Path)) == "." {
		return &fs.PathError{Op: pe.Op, Path: filepath.Join(filepath.FromSlash(dir), pe.Path), Err: pe.Err}
	}
	return err
}

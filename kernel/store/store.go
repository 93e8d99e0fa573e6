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

// Store is a directory whose files are read and written by names relative to it, with slashes. No name leads
// out of it. It is safe for concurrent use.
type Store struct {
	tree
	label string // for messages
}

func newStore(root *os.Root, path, label string) *Store {
	self := sync.OnceValues(func() (fs.FileInfo, error) { return root.Stat(".") })
	return &Store{tree: tree{root: root, path: path, self: self}, label: label}
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

// Remove removes a file or an empty directory; a missing file is not an error.
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

// CheckIntact returns nil while the open directory is still the directory at its path.
func (s *Store) CheckIntact() error {
	if s.isGone() {
		return s.wrapError("use it", fs.ErrNotExist)
	}
	return nil
}

// wrapError adds the failed action to an error, nil for nil. If the whole directory is gone, the error says so instead
// of blaming one file.
func (s *Store) wrapError(act string, err error) error {
	if err == nil {
		return nil
	}
	if errors.Is(err, fs.ErrNotExist) && s.isGone() {
		return failure.New(failure.StateCorrupt, "%s: the %s %s was removed or replaced while in use: %w", act, s.label, s.path, err).
			WithHint("nothing more can be recorded there; restore it and resume, or start the session again")
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
const writableHint = "make the project's .claude folder writable: sessions are stored there"

// absError replaces a relative path in a path error by the absolute path.
func (s *Store) absError(err error) error {
	var pe *fs.PathError
	if errors.As(err, &pe) && !filepath.IsAbs(pe.Path) {
		return &fs.PathError{Op: pe.Op, Path: s.Abs(pe.Path), Err: pe.Err}
	}
	return err
}

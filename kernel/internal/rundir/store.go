package rundir

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"syscall"

	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
)

// Directories and files are made with these modes, less the user's umask. Private directories hold
// what only the kernel and one plugin exchange.
const (
	dirMode     fs.FileMode = 0o755
	fileMode    fs.FileMode = 0o644
	privateMode fs.FileMode = 0o700
)

// Store is a directory whose files are read and written by names relative to it, with slashes. No
// name leads out of it. Its methods may be called from several goroutines.
type Store struct {
	root *os.Root
	path string // absolute, as the user named it
	what string // for messages
}

// Path is the absolute path of the directory.
func (s *Store) Path() string { return s.path }

// Abs is the absolute path of a name in the store.
func (s *Store) Abs(name string) string { return filepath.Join(s.path, filepath.FromSlash(name)) }

// Close frees the directory. Files opened from it stay open.
func (s *Store) Close() error { return s.root.Close() }

// Stat describes a file; the error wraps [fs.ErrNotExist] if there is none.
func (s *Store) Stat(name string) (fs.FileInfo, error) {
	info, err := s.root.Stat(filepath.FromSlash(name))
	if err != nil {
		return nil, s.explain("look at "+name, err)
	}
	return info, nil
}

// OpenFile opens a file as [os.OpenFile] does and makes its directory if flag has [os.O_CREATE].
func (s *Store) OpenFile(name string, flag int) (*os.File, error) {
	if flag&os.O_CREATE != 0 {
		if err := s.mkdirAll(path.Dir(name), dirMode); err != nil {
			return nil, s.explain("open "+name, err)
		}
	}
	f, err := s.root.OpenFile(filepath.FromSlash(name), flag, fileMode)
	if err != nil {
		return nil, s.explain("open "+name, err)
	}
	return f, nil
}

// Entries lists a directory in the order of names. A directory that does not exist is empty, unless
// it is the store's own.
func (s *Store) Entries(name string) ([]fs.DirEntry, error) {
	entries, err := fs.ReadDir(s.root.FS(), name)
	if errors.Is(err, fs.ErrNotExist) && !s.gone() {
		return nil, nil
	}
	if err != nil {
		return nil, s.explain("list "+name, err)
	}
	return entries, nil
}

// MkdirPrivate makes a directory that only the user may enter, and the ones above it.
func (s *Store) MkdirPrivate(name string) error {
	if err := s.mkdirAll(path.Dir(name), dirMode); err != nil {
		return s.explain("make "+name, err)
	}
	if err := s.mkdirAll(name, privateMode); err != nil {
		return s.explain("make "+name, err)
	}
	return nil
}

// Mkdir makes a directory and the ones above it.
func (s *Store) Mkdir(name string) error {
	if err := s.mkdirAll(name, dirMode); err != nil {
		return s.explain("make "+name, err)
	}
	return nil
}

// Remove removes a file or an empty directory; one that is not there is no error.
func (s *Store) Remove(name string) error {
	err := s.root.Remove(filepath.FromSlash(name))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return s.explain("remove "+name, err)
	}
	return nil
}

// Rename moves a file within the store, over one that may be there.
func (s *Store) Rename(from, to string) error {
	if err := s.mkdirAll(path.Dir(to), dirMode); err != nil {
		return s.explain("rename "+from, err)
	}
	if err := s.root.Rename(filepath.FromSlash(from), filepath.FromSlash(to)); err != nil {
		return s.explain("rename "+from, err)
	}
	return nil
}

// Intact returns nil while the directory still lies at its path.
func (s *Store) Intact() error {
	if s.gone() {
		return s.explain("use it", fs.ErrNotExist)
	}
	return nil
}

// mkdirAll makes name and what is missing above it. Each new directory is synced into its parent, so
// that a file synced later is not lost with the directory it lies in.
func (s *Store) mkdirAll(name string, mode fs.FileMode) error {
	local := filepath.FromSlash(name)
	if info, err := s.root.Stat(local); err == nil {
		if !info.IsDir() {
			return &fs.PathError{Op: "mkdir", Path: name, Err: errors.New("a file lies there")}
		}
		return nil
	} else if !errors.Is(err, fs.ErrNotExist) || s.gone() {
		return err
	}
	parent := path.Dir(name)
	if parent != name {
		if err := s.mkdirAll(parent, dirMode); err != nil {
			return err
		}
	}
	if err := s.root.Mkdir(local, mode); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return s.syncDir(parent)
}

// gone reports whether the directory was removed, or replaced by another one at the same path.
func (s *Store) gone() bool {
	ours, err := s.root.Stat(".")
	if err != nil {
		return true
	}
	there, err := os.Stat(s.path)
	return err != nil || !os.SameFile(ours, there)
}

// explain adds what was tried. If the reason is that the whole directory is gone, it says so instead
// of blaming one file.
func (s *Store) explain(act string, err error) error {
	if errors.Is(err, fs.ErrNotExist) && s.gone() {
		return failure.New(failure.StateCorrupt, "%s: the %s %s was removed or replaced while in use: %w", act, s.what, s.path, err).
			WithHint("nothing more can be recorded there; start the session again")
	}
	err = fmt.Errorf("%s: %w", act, s.where(err))
	if hint := remedy(err); hint != "" {
		return failure.From(err).WithHint("%s", hint)
	}
	return err
}

// remedy is what the user can do about a disk that refuses, "" for other errors.
func remedy(err error) string {
	switch {
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		return "free some space, then go on"
	case errors.Is(err, syscall.EROFS), errors.Is(err, fs.ErrPermission):
		return "sessions need a .claude folder that can be written"
	default:
		return ""
	}
}

// where puts the store's path into errors that only know the relative name.
func (s *Store) where(err error) error {
	var pe *fs.PathError
	if errors.As(err, &pe) && !filepath.IsAbs(pe.Path) {
		return &fs.PathError{Op: pe.Op, Path: s.Abs(pe.Path), Err: pe.Err}
	}
	return err
}

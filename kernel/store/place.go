package store

import (
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"sync"
)

// maxOpenDirs is how many directories a store keeps open beside its own: those that an iteration works in.
const maxOpenDirs = 6

// A place is a directory of a store that is kept open, so that reaching a file in it need not open all the
// directories above it once more. It may be used while others are; it is closed when it is neither kept nor in use.
type cachedDir struct {
	dir  string // the store's own is "."
	root *os.Root
	info fs.FileInfo // of the directory when it was opened; nil for the store's own
	uses int
	kept bool
}

// dirCache are the directories that a store keeps open, the one used last at the end.
type dirCache struct {
	mu   sync.Mutex
	kept []*cachedDir
}

// acquire returns the place of a directory if it is kept open.
func (ps *dirCache) acquire(dir string) *cachedDir {
	ps.mu.Lock()
	defer ps.mu.Unlock()
	i := slices.IndexFunc(ps.kept, func(p *cachedDir) bool { return p.dir == dir })
	if i < 0 {
		return nil
	}
	p := ps.kept[i]
	ps.kept = append(slices.Delete(ps.kept, i, i+1), p)
	p.uses++
	return p
}

// add keeps a place that was just opened and gives up the one that was not used for longest.
func (ps *dirCache) add(p *cachedDir) {
	ps.mu.Lock()
	defer ps.mu.Unlock()
	p.kept = true
	ps.kept = append(ps.kept, p)
	if len(ps.kept) > maxOpenDirs {
		ps.evictAt(0)
	}
}

// evict gives up a place that is no longer what lies at its path.
func (ps *dirCache) evict(p *cachedDir) {
	ps.mu.Lock()
	defer ps.mu.Unlock()
	if i := slices.Index(ps.kept, p); i >= 0 {
		ps.evictAt(i)
	}
}

// evictAt gives up the i-th place; the caller holds the lock.
func (ps *dirCache) evictAt(i int) {
	p := ps.kept[i]
	ps.kept = slices.Delete(ps.kept, i, i+1)
	p.kept = false
	if p.uses == 0 {
		_ = p.root.Close()
	}
}

// release says that a place is not used any more by one of its users.
func (ps *dirCache) release(p *cachedDir) {
	if p.info == nil {
		return // the store's own
	}
	ps.mu.Lock()
	defer ps.mu.Unlock()
	if p.uses--; p.uses == 0 && !p.kept {
		_ = p.root.Close()
	}
}

// close gives up all places.
func (ps *dirCache) close() {
	ps.mu.Lock()
	defer ps.mu.Unlock()
	for len(ps.kept) > 0 {
		ps.evictAt(0)
	}
}

// acquireDir opens a directory of the store, which has to exist. The caller says when it is [places.done]. One that is kept
// open and was meanwhile moved or removed is opened anew.
func (s *Store) acquireDir(dir string) (*cachedDir, error) {
	if dir == "." {
		return &cachedDir{dir: dir, root: s.root}, nil
	}
	if p := s.dirs.acquire(dir); p != nil {
		if there, err := os.Stat(s.Abs(dir)); err == nil && os.SameFile(p.info, there) {
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

// openSubdir opens a directory by way of the one above it.
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

// withDir calls f with an open directory and a name in it which together are the name in the store. What that refuses for
// another reason than that there is, or is not, something of the name, is tried once more from the store's own
// directory: a symbolic link may lead out of the one and not out of the other.
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

// prefixDir puts the directory before the name in an error that only knows the name in it.
func prefixDir(dir string, err error) error {
	var pe *fs.PathError
	if errors.As(err, &pe) && !filepath.IsAbs(pe.Path) && filepath.ToSlash(filepath.Dir(pe.Path)) == "." {
		return &fs.PathError{Op: pe.Op, Path: filepath.Join(filepath.FromSlash(dir), pe.Path), Err: pe.Err}
	}
	return err
}

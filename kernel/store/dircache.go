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

// maxOpenDirs is the number of directories that a store keeps open beside its own, enough for one iteration.
const maxOpenDirs = 6

// cachedDir is an open directory of a store, so that file access need not open all its parents again. It is
// closed when it is neither in the cache nor in use.
type cachedDir struct {
	dir  string // the store's own is "."
	root *os.Root
	info fs.FileInfo // of the directory when it was opened; nil for the store's own
	uses int
	// in the cache
	cached bool
}

// dirCache is the list of directories that a store keeps open, the most recently used at the end.
type dirCache struct {
	mu     sync.Mutex
	cached []*cachedDir
}

// acquire returns a cached directory for use, nil if it is not in the cache.
func (c *dirCache) acquire(dir string) *cachedDir {
	c.mu.Lock()
	defer c.mu.Unlock()
	i := slices.IndexFunc(c.cached, func(p *cachedDir) bool { return p.dir == dir })
	if i < 0 {
		return nil
	}
	p := c.cached[i]
	c.cached = append(slices.Delete(c.cached, i, i+1), p)
	p.uses++
	return p
}

// add caches a directory that was just opened and evicts the least recently used one.
func (c *dirCache) add(p *cachedDir) {
	c.mu.Lock()
	defer c.mu.Unlock()
	p.cached = true
	c.cached = append(c.cached, p)
	if len(c.cached) > maxOpenDirs {
		c.evictAt(0)
	}
}

// evict removes a directory that is no longer the one at its path.
func (c *dirCache) evict(p *cachedDir) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if i := slices.Index(c.cached, p); i >= 0 {
		c.evictAt(i)
	}
}

// evictAt removes the i-th directory; the caller holds the lock.
func (c *dirCache) evictAt(i int) {
	p := c.cached[i]
	c.cached = slices.Delete(c.cached, i, i+1)
	p.cached = false
	if p.uses == 0 {
		_ = p.root.Close()
	}
}

// release ends one use of a directory.
func (c *dirCache) release(p *cachedDir) {
	if p.info == nil {
		return // the store's own
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if p.uses--; p.uses == 0 && !p.cached {
		_ = p.root.Close()
	}
}

// close evicts all directories.
func (c *dirCache) close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for len(c.cached) > 0 {
		c.evictAt(0)
	}
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

package store

import (
	"io/fs"
	"os"
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

package store

import (
	"cmp"
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"sync"
	"syscall"

	"github.com/dodo-digital/agent-pipelines/kernel/failpoint"
)

// Modes of new directories and files, less the user's umask. Private directories hold the data that only the
// kernel and one plugin exchange.
const (
	dirMode     fs.FileMode = 0o755
	fileMode    fs.FileMode = 0o644
	privateMode fs.FileMode = 0o700
)

// maxOpenDirs is the number of directories that a store keeps open besides its own, enough for one iteration.
const maxOpenDirs = 6

// cachedDir is an open directory of a store, so that file access need not open all its parents again. It is
// closed when it is neither in the cache nor in use.
type cachedDir struct {
	dir  string // the store's own is "."
	root *os.Root
	info fs.FileInfo // of the directory when it was opened; nil for the store's own
	uses int
	// cached is true while the directory is in the cache.
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

// add caches a directory that was just opened and evicts the least recently used directory beyond [maxOpenDirs].
func (c *dirCache) add(p *cachedDir) {
	c.mu.Lock()
	defer c.mu.Unlock()
	p.cached = true
	c.cached = append(c.cached, p)
	if len(c.cached) > maxOpenDirs {
		c.evictAt(0)
	}
}

// evict removes a directory that is no longer the directory at its path.
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

// tree is the files below a directory, by names relative to it. Its errors are those of the operating system.
type tree struct {
	root *os.Root
	path string                      // absolute, as the user gave it
	self func() (fs.FileInfo, error) // file info of the open directory, read once
	// noLinks: a symbolic link below the directory is an error, because an agent made it.
	noLinks bool

	dirs   dirCache
	synced syncedDirs
}

// errLink is the reason for which a file is not opened in a tree with noLinks.
var errLink = errors.New("a symbolic link is in its place: remove it")

// checkReal returns an error if a link led to the opened file and the tree has noLinks.
func (t *tree) checkReal(dir *os.Root, base string, opened fs.FileInfo) error {
	if !t.noLinks {
		return nil
	}
	named, err := dir.Lstat(base)
	if err == nil && !os.SameFile(named, opened) {
		err = &fs.PathError{Op: "open", Path: base, Err: errLink}
	}
	return err
}

// withDir calls f with an open directory and a base name that together are the name in the store. After errors other
// than [fs.ErrNotExist] and [fs.ErrExist], it tries again from the store's own directory. The reason is that a symbolic
// link may lead out of the subdirectory but stay in the store.
func (t *tree) withDir(name string, f func(root *os.Root, base string) error) error {
	p, err := t.acquireDir(path.Dir(name))
	if err == nil {
		err = f(p.root, path.Base(name))
		t.dirs.release(p)
	}
	if err == nil || t.noLinks || errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrExist) {
		return prefixDir(path.Dir(name), err)
	}
	return f(t.root, filepath.FromSlash(name))
}

// acquireDir opens an existing directory of the store; the caller calls [dirCache.release]. A cached directory
// that was moved or removed is opened again.
func (t *tree) acquireDir(dir string) (*cachedDir, error) {
	if dir == "." {
		return &cachedDir{dir: dir, root: t.root}, nil
	}
	if p := t.dirs.acquire(dir); p != nil {
		if current, err := os.Stat(filepath.Join(t.path, filepath.FromSlash(dir))); err == nil && os.SameFile(p.info, current) {
			return p, nil
		}
		t.dirs.evict(p)
		t.dirs.release(p)
	}
	root, err := t.openSubdir(dir)
	if err != nil {
		return nil, err
	}
	info, err := root.Stat(".")
	if err != nil {
		return nil, errors.Join(err, root.Close())
	}
	p := &cachedDir{dir: dir, root: root, info: info, uses: 1}
	t.dirs.add(p)
	return p, nil
}

// openSubdir opens a directory through its parent.
func (t *tree) openSubdir(dir string) (root *os.Root, err error) {
	if path.Dir(dir) == dir { // the top of all directories, which is refused
		return t.root.OpenRoot(filepath.FromSlash(dir))
	}
	err = t.withDir(dir, func(above *os.Root, base string) (err error) {
		if root, err = above.OpenRoot(base); err != nil {
			if info, fault := above.Lstat(base); t.noLinks && fault == nil && info.Mode().IsRegular() {
				err = &fs.PathError{Op: "open", Path: base, Err: syscall.ENOTDIR}
			}
			return err
		}
		opened, err := root.Stat(".")
		if err = cmp.Or(err, t.checkReal(above, base, opened)); err != nil {
			_ = root.Close()
		}
		return err
	})
	return root, err
}

// prefixDir puts the directory before the name in a path error that has only a base name.
func prefixDir(dir string, err error) error {
	var pe *fs.PathError
	if errors.As(err, &pe) && !filepath.IsAbs(pe.Path) && filepath.ToSlash(filepath.Dir(pe.Path)) == "." {
		return &fs.PathError{Op: pe.Op, Path: filepath.Join(filepath.FromSlash(dir), pe.Path), Err: pe.Err}
	}
	return err
}

func (t *tree) stat(name string) (info fs.FileInfo, err error) {
	err = t.withDir(name, func(root *os.Root, base string) (err error) {
		info, err = root.Stat(base)
		return err
	})
	return info, err
}

func (t *tree) open(name string, flag int) (f *os.File, err error) {
	if flag&os.O_CREATE != 0 {
		failpoint.Point("rundir.open.before")
		failpoint.BeforeWrite(t.path, name)
	}
	err = t.withDir(name, func(root *os.Root, base string) (err error) {
		if t.noLinks && flag&(os.O_WRONLY|os.O_RDWR) != 0 {
			f, err = t.openReal(root, base, flag)
		} else {
			f, err = root.OpenFile(base, flag, fileMode)
		}
		return err
	})
	return f, err
}

// openReal opens a file for writing, and changes no other file if a link is in its place.
func (t *tree) openReal(dir *os.Root, base string, flag int) (*os.File, error) {
	if info, err := dir.Lstat(base); err == nil && info.Mode().Type() == fs.ModeSymlink {
		return nil, &fs.PathError{Op: "open", Path: base, Err: errLink}
	}
	f, err := dir.OpenFile(base, flag&^os.O_TRUNC, fileMode)
	if err != nil {
		return nil, err
	}
	opened, err := f.Stat()
	err = cmp.Or(err, t.checkReal(dir, base, opened))
	if err == nil && flag&os.O_TRUNC != 0 {
		failpoint.Point("rundir.open.truncate")
		err = f.Truncate(0)
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// fileInPath returns an error if a file is in the place of a directory, nil otherwise.
func (t *tree) fileInPath(dir string) error {
	if info, err := t.root.Stat(filepath.FromSlash(dir)); err == nil && !info.IsDir() {
		return &fs.PathError{Op: "mkdir", Path: dir, Err: errors.New("a file is there")}
	}
	return nil
}

// mkdirFresh makes a directory like mkdirAll but expects it to be missing, and reports whether it was.
func (t *tree) mkdirFresh(name string, mode fs.FileMode) (fresh bool, err error) {
	err = t.mkdir(name, mode)
	missing := errors.Is(err, fs.ErrNotExist) // a parent is missing
	if missing || errors.Is(err, fs.ErrExist) {
		return missing, t.mkdirAll(name, mode)
	}
	return err == nil, err
}

// mkdirAll makes name and its missing parents. It syncs nothing; the first durable file in the directory does.
func (t *tree) mkdirAll(name string, mode fs.FileMode) error {
	p, err := t.acquireDir(name)
	if err == nil {
		t.dirs.release(p)
		return nil
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return cmp.Or(t.fileInPath(name), err)
	}
	if t.isGone() {
		return err
	}
	if parent := path.Dir(name); parent != name {
		if err := t.mkdirAll(parent, dirMode); err != nil {
			return err
		}
	}
	if err := t.mkdir(name, mode); !errors.Is(err, fs.ErrExist) {
		return err
	}
	return nil
}

// mkdir makes one directory in an existing directory.
func (t *tree) mkdir(name string, mode fs.FileMode) error {
	t.synced.remove(name)
	if err := t.withDir(name, func(root *os.Root, base string) error { return root.Mkdir(base, mode) }); err != nil {
		return err
	}
	failpoint.AfterMkdir(t.path, name)
	failpoint.Point("rundir.mkdir.made")
	return nil
}

func (t *tree) rename(from, to string) error {
	err := t.withDir(from, func(root *os.Root, base string) error { _, err := root.Lstat(base); return err })
	if err != nil {
		return err
	}
	if err := t.mkdirAll(path.Dir(to), dirMode); err != nil {
		return err
	}
	failpoint.Point("rundir.rename.before")
	failpoint.BeforeRename(t.path, from, to)
	if err := t.root.Rename(filepath.FromSlash(from), filepath.FromSlash(to)); err != nil {
		return err
	}
	failpoint.Point("rundir.rename.after")
	return nil
}

// isGone reports whether the directory was removed or replaced at its path. While it is open, no other
// directory can have its identity.
func (t *tree) isGone() bool {
	ours, err := t.self()
	if err != nil {
		return true
	}
	current, err := os.Stat(t.path)
	return err != nil || !os.SameFile(ours, current)
}

// maxSyncedDirs is the number of directories that a store remembers as durable; a forgotten directory is synced again.
const maxSyncedDirs = 64

// syncedDirs lists the directories whose entries in all parents, up to the store's own, are durable.
type syncedDirs struct {
	mu    sync.Mutex
	names []string // the most recently used at the end
}

func (d *syncedDirs) has(name string) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	i := slices.Index(d.names, name)
	if i < 0 {
		return false
	}
	d.names = append(slices.Delete(d.names, i, i+1), name)
	return true
}

func (d *syncedDirs) add(name string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if slices.Contains(d.names, name) {
		return
	}
	if d.names = append(d.names, name); len(d.names) > maxSyncedDirs {
		d.names = slices.Delete(d.names, 0, 1)
	}
}

// remove forgets a directory that is made again.
func (d *syncedDirs) remove(name string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.names = slices.DeleteFunc(d.names, func(known string) bool { return known == name })
}

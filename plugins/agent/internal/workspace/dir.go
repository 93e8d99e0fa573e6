package workspace

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"syscall"
)

// Dir is an open workspace. It is safe for concurrent use; who opened it closes it.
type Dir struct {
	path string
	root *os.Root
}

// Open opens the directory; links that lead to it are followed now, and not again.
func Open(dir string) (*Dir, error) {
	whole, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return nil, fmt.Errorf("open workspace: %w", err)
	}
	if whole, err = filepath.Abs(whole); err != nil {
		return nil, fmt.Errorf("open workspace: %w", err)
	}
	root, err := os.OpenRoot(whole)
	if err != nil {
		return nil, fmt.Errorf("open workspace: %w", err)
	}
	return &Dir{path: whole, root: root}, nil
}

// Close releases the directory.
func (d *Dir) Close() error { return d.root.Close() }

// Path is the absolute path, without links.
func (d *Dir) Path() string { return d.path }

// Root is where files are opened. It refuses what leads out at the moment of use.
func (d *Dir) Root() *os.Root { return d.root }

// Abs is the absolute form of a resolved path.
func (d *Dir) Abs(resolved string) string { return filepath.Join(d.path, filepath.FromSlash(resolved)) }

// Rel is the path of an absolute one that lies, as it is written, in the workspace.
func (d *Dir) Rel(abs string) (string, bool) {
	rel, err := filepath.Rel(d.path, abs)
	if err != nil || !filepath.IsLocal(rel) {
		return "", false
	}
	return filepath.ToSlash(rel), true
}

// maxLinks is how many links one path may follow, as on Linux.
const maxLinks = 40

// Resolve is the place that a path means: without dots, with every link followed that exists now. What does not exist
// is kept as it is. It is an [*OutsideError] where the path leads out, as it is written or by a link.
func (d *Dir) Resolve(p string) (string, error) { return d.resolve(p, true) }

// ResolveEntry is Resolve for the entry itself: if the last part is a link, it is not followed.
func (d *Dir) ResolveEntry(p string) (string, error) { return d.resolve(p, false) }

func (d *Dir) resolve(p string, last bool) (string, error) {
	if _, err := Clean(p); err != nil {
		return "", err
	}
	done, rest, links := ".", strings.Split(p, "/"), 0
	for len(rest) > 0 {
		part := rest[0]
		rest = rest[1:]
		switch part {
		case "", ".":
			continue
		case "..": // of where the links have led, as programs understand it
			if done == "." {
				return "", &OutsideError{Path: p, Why: "a link leads to a directory above"}
			}
			done = path.Dir(done)
			continue
		}
		next := path.Join(done, part)
		target, isLink, err := d.link(next)
		switch {
		case err != nil:
			return "", fmt.Errorf("look at %s: %w", next, err)
		case !isLink, !last && len(rest) == 0:
			done = next
			continue
		case links == maxLinks:
			return "", &OutsideError{Path: p, Why: "its links lead round in circles"}
		}
		links++
		if filepath.IsAbs(target) {
			inside, ok := d.Rel(target)
			if !ok {
				return "", &OutsideError{Path: p, Why: fmt.Sprintf("%s is a link to %s", next, shorten(target))}
			}
			done, target = ".", inside
		}
		rest = append(strings.Split(filepath.ToSlash(target), "/"), rest...)
	}
	if why := suspicious(done); why != "" { // ./~ is ~ by then
		return "", &OutsideError{Path: p, Why: why}
	}
	return done, nil
}

// link is the target of the entry if it is a link. An entry that does not exist, or cannot because its parent is a
// file, is none.
func (d *Dir) link(entry string) (target string, isLink bool, err error) {
	info, err := d.root.Lstat(entry)
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR):
		return "", false, nil
	case err != nil:
		return "", false, err
	case info.Mode()&fs.ModeSymlink == 0:
		return "", false, nil
	}
	target, err = d.root.Readlink(entry)
	return target, err == nil, err
}

// Escapes reports whether an error of [Dir.Root] means that the path leads out of it.
func Escapes(err error) bool {
	var pathErr *fs.PathError
	return errors.As(err, &pathErr) && pathErr.Err != nil && pathErr.Err.Error() == escapes
}

// escapes is what os.Root says; it has no exported error.
const escapes = "path escapes from parent"

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

// Dir is an open workspace. It is safe for concurrent use; the caller of [Open] closes it.
type Dir struct {
	path string
	root *os.Root
}

// Open opens the directory. Links in its path are followed once, here.
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

// Path returns the absolute path without links.
func (d *Dir) Path() string { return d.path }

// Root returns the root through which files are opened. It refuses paths to the outside at the time of use.
func (d *Dir) Root() *os.Root { return d.root }

// Abs returns the absolute form of a resolved path.
func (d *Dir) Abs(resolved string) string { return filepath.Join(d.path, filepath.FromSlash(resolved)) }

// Rel makes an absolute path relative to the workspace. It returns false if the path is, as text, not in the workspace.
func (d *Dir) Rel(abs string) (string, bool) {
	rel, err := filepath.Rel(d.path, abs)
	if err != nil || !filepath.IsLocal(rel) {
		return "", false
	}
	return filepath.ToSlash(rel), true
}

// maxLinks limits the links that one path may follow, as on Linux.
const maxLinks = 40

// Resolve returns the path without dots and with every existing link followed. Missing parts stay as they are. The error
// is an [*OutsideError] if the path leads outside, as text or through a link.
func (d *Dir) Resolve(p string) (string, error) { return d.resolve(p, true) }

// ResolveEntry is Resolve for the entry itself: if the last part is a link, it is not followed.
func (d *Dir) ResolveEntry(p string) (string, error) { return d.resolve(p, false) }

func (d *Dir) resolve(p string, last bool) (string, error) {
	if why := pathFault(p); why != "" {
		return "", &OutsideError{Path: p, Reason: why}
	}
	done, rest, links := ".", strings.Split(p, "/"), 0
	for len(rest) > 0 {
		part := rest[0]
		rest = rest[1:]
		switch part {
		case "", ".":
			continue
		case "..": // the parent of the link's target, as programs resolve it
			if done == "." {
				return "", &OutsideError{Path: p, Reason: "a link leads to a directory above"}
			}
			done = path.Dir(done)
			continue
		}
		next := path.Join(done, part)
		target, isLink, err := d.link(next)
		switch {
		case err != nil:
			return "", fmt.Errorf("inspect %s: %w", next, err)
		case !isLink, !last && len(rest) == 0:
			done = next
			continue
		case links == maxLinks:
			return "", &OutsideError{Path: p, Reason: "it leads through too many links, or through links in a cycle"}
		}
		links++
		if filepath.IsAbs(target) {
			inside, ok := d.Rel(target)
			if !ok {
				return "", &OutsideError{Path: p, Reason: fmt.Sprintf("%s is a link to %s", next, shorten(target))}
			}
			done, target = ".", inside
		}
		rest = append(strings.Split(filepath.ToSlash(target), "/"), rest...)
	}
	if why := pathFault(done); why != "" { // ./~ has become ~
		return "", &OutsideError{Path: p, Reason: why}
	}
	return done, nil
}

// link returns the target of the entry if it is a link. An entry that is missing, or whose parent is a file, is not a link.
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

// Escapes reports whether an error of [Dir.Root] means that a path leads outside.
func Escapes(err error) bool {
	var pathErr *fs.PathError
	return errors.As(err, &pathErr) && pathErr.Err != nil && pathErr.Err.Error() == escapeMessage
}

// escapeMessage is the text of os.Root's error, which is not exported.
const escapeMessage = "path escapes from parent"

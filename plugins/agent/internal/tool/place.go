package tool

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
)

// place is a file or directory that a call names.
type place struct {
	set   *Set
	given string // as the model wrote it
	rel   string // relative to the workspace, without links
	entry bool   // the entry itself is meant, not what it links to
	// report is the absolute path of one of the kernel's files, "" for all else; given to be read alone, if fixed.
	report string
	fixed  bool
}

// reportSpellings are the ways to write the report files, with the file each means.
func reportSpellings(root, realRoot string, reports []string) map[string]string {
	spellings := map[string]string{}
	for _, report := range reports {
		if report == "" || !filepath.IsAbs(report) {
			continue
		}
		report = filepath.Clean(report)
		spellings[report] = report
		for _, base := range []string{filepath.Clean(root), realRoot} {
			if rel, err := filepath.Rel(base, report); err == nil && filepath.IsLocal(rel) {
				spellings[filepath.ToSlash(rel)] = report
			}
		}
	}
	return spellings
}

// locate finds the place of a path.
func (s *Set) locate(given string) (place, error) { return s.locateAs(given, false) }

func (s *Set) locateAs(given string, entry bool) (place, error) {
	if report, ok := s.reports[path.Clean(given)]; ok {
		p := place{set: s, given: given, report: report, rel: report, fixed: slices.Contains(s.o.Readable, report)}
		for _, base := range []string{filepath.Clean(s.o.Root), s.ws.Path()} {
			if rel, err := filepath.Rel(base, report); err == nil && filepath.IsLocal(rel) {
				p.rel = filepath.ToSlash(rel)
			}
		}
		return p, nil
	}
	resolve := s.ws.Resolve
	if entry {
		resolve = s.ws.ResolveEntry
	}
	rel, err := resolve(given)
	return place{set: s, given: given, rel: rel, entry: entry}, err
}

// writable refuses what no tool may change.
func (p place) writable() error {
	if p.rel == "." {
		return failed("%s is the workspace itself", p.given)
	}
	if p.fixed {
		return denied("%s is what this work begins with: it is read and not changed", p.given)
	}
	if p.report != "" {
		return nil
	}
	for part := range strings.SplitSeq(p.rel, "/") {
		if strings.EqualFold(part, ".git") {
			return denied("%s belongs to git, which runs what is configured there; use git commands", p.rel)
		}
	}
	return nil
}

// open is the root under which the place lies now, and its name there. The place must be where it was when it was judged.
func (p place) open() (root *os.Root, name string, done func(), err error) {
	if p.report != "" {
		root, err := os.OpenRoot(filepath.Dir(p.report))
		if err != nil {
			return nil, "", nil, fmt.Errorf("open the directory of %s: %w", p.rel, err)
		}
		return root, filepath.Base(p.report), func() { _ = root.Close() }, nil
	}
	now, err := p.set.locateAs(p.given, p.entry)
	if err != nil {
		return nil, "", nil, err
	}
	if now.rel != p.rel {
		return nil, "", nil, denied("%s has become a link to %s since the call was judged; ask again", p.given, now.rel)
	}
	return p.set.ws.Root(), p.rel, func() {}, nil
}

// stat looks at the place, following no link for an entry.
func (p place) stat() (fs.FileInfo, error) {
	root, name, done, err := p.open()
	if err != nil {
		return nil, err
	}
	defer done()
	return root.Lstat(name)
}

// load is the content of a regular file.
func (p place) load() ([]byte, error) {
	root, name, done, err := p.open()
	if err != nil {
		return nil, err
	}
	defer done()
	return loadFile(root, name)
}

// loadFile reads a regular file of at most [maxFile] bytes. Opening does not wait for the other end of a pipe.
func loadFile(root *os.Root, name string) ([]byte, error) {
	f, err := root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	switch {
	case err != nil:
		return nil, err
	case info.IsDir():
		return nil, failed("%s is a directory", name)
	case !info.Mode().IsRegular():
		return nil, failed("%s is no regular file", name)
	case info.Size() > maxFile:
		return nil, failed("%s has %d bytes, more than the %d that are read", name, info.Size(), maxFile)
	}
	content, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if len(content) > maxFile {
		return nil, failed("%s is longer than the %d bytes that are read", name, maxFile)
	}
	return content, err
}

// save replaces the content of the file, whole or not at all, making the directories on the way. A hard link to a file
// elsewhere is cut by that, since a new file takes the name.
func (p place) save(content []byte) error {
	root, name, done, err := p.open()
	if err != nil {
		return err
	}
	defer done()
	mode := fs.FileMode(0o666)
	switch info, err := root.Lstat(name); {
	case err == nil && !info.Mode().IsRegular():
		return failed("%s is no regular file", p.rel)
	case err == nil:
		mode = info.Mode().Perm()
	case !errors.Is(err, fs.ErrNotExist):
		return err
	}
	if err := root.MkdirAll(path.Dir(name), 0o777); err != nil {
		return err
	}
	return replace(root, name, content, mode)
}

func replace(root *os.Root, name string, content []byte, mode fs.FileMode) (err error) {
	temp := path.Join(path.Dir(name), ".write-"+rand.Text()+".tmp")
	f, err := root.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = root.Remove(temp)
		}
	}()
	_, err = f.Write(content)
	if err == nil && mode != 0o666 { // a new file gets what the umask leaves
		err = f.Chmod(mode)
	}
	if err == nil {
		err = f.Sync() // the result will be on the disk, and must not be there before the file
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	return root.Rename(temp, name)
}

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

// fileRef is a file or directory that a call names.
type fileRef struct {
	set      *Set
	spelling string // the model's spelling
	rel      string // relative to the workspace, without links
	entry    bool   // the entry itself is meant, not the target of a link
	// report is the absolute path of a file of the kernel, "" for other files. readOnly is set for [Options.Readable].
	report   string
	readOnly bool
}

// addReports adds files of the kernel, which a call may name by their absolute path or relative to the workspace.
func (s *Set) addReports(reports []string, readOnly bool) {
	for _, report := range reports {
		if !filepath.IsAbs(report) {
			continue
		}
		report = filepath.Clean(report)
		p := fileRef{set: s, rel: report, report: report, readOnly: readOnly}
		spellings := []string{report}
		for _, base := range []string{filepath.Clean(s.o.Root), s.ws.Path()} {
			if rel, err := filepath.Rel(base, report); err == nil && filepath.IsLocal(rel) {
				p.rel = filepath.ToSlash(rel)
				spellings = append(spellings, p.rel)
			}
		}
		for _, spelling := range spellings {
			s.reports[spelling] = p
		}
	}
}

// locate returns the file of a path. Links are followed, except a last link if the entry itself is meant.
func (s *Set) locate(spelling string, entry bool) (fileRef, error) {
	if p, ok := s.reports[path.Clean(spelling)]; ok {
		p.spelling = spelling
		return p, nil
	}
	resolve := s.ws.Resolve
	if entry {
		resolve = s.ws.ResolveEntry
	}
	rel, err := resolve(spelling)
	return fileRef{set: s, spelling: spelling, rel: rel, entry: entry}, err
}

// locateWritable is locate for a file that a call changes. It refuses files that no tool may change.
func (s *Set) locateWritable(spelling string, entry bool) (fileRef, error) {
	p, err := s.locate(spelling, entry)
	switch {
	case err != nil:
		return p, err
	case p.rel == ".":
		return p, newFailure("%s is the workspace itself", spelling)
	case p.readOnly:
		return p, newDenial("%s is an input of this work: it may be read, not changed", spelling)
	case p.report == "" && slices.ContainsFunc(strings.Split(p.rel, "/"), func(part string) bool { return strings.EqualFold(part, ".git") }):
		return p, newDenial("%s belongs to git, which runs programs that are configured there; use git commands", p.rel)
	}
	return p, nil
}

// open returns the root of the file and its name in the root. It fails if the path now leads to another file. The
// caller calls done after use.
func (p fileRef) open() (root *os.Root, name string, done func(), err error) {
	if p.report != "" {
		root, err := os.OpenRoot(filepath.Dir(p.report))
		if err != nil {
			return nil, "", nil, fmt.Errorf("open the directory of %s: %w", p.rel, err)
		}
		return root, filepath.Base(p.report), func() { _ = root.Close() }, nil
	}
	now, err := p.set.locate(p.spelling, p.entry)
	if err != nil {
		return nil, "", nil, err
	}
	if now.rel != p.rel {
		return nil, "", nil, newDenial("%s has become a link to %s since the call was checked; call the tool again", p.spelling, now.rel)
	}
	return p.set.ws.Root(), p.rel, func() {}, nil
}

// stat describes the file. It does not follow a final symbolic link.
func (p fileRef) stat() (fs.FileInfo, error) {
	root, name, done, err := p.open()
	if err != nil {
		return nil, err
	}
	defer done()
	return root.Lstat(name)
}

// load returns the content of a regular file.
func (p fileRef) load() ([]byte, error) {
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
		return nil, newFailure("%s is a directory", name)
	case !info.Mode().IsRegular():
		return nil, newFailure("%s is not a regular file", name)
	case info.Size() > maxFile:
		return nil, newFailure("%s has %d bytes, more than the %d that are read", name, info.Size(), maxFile)
	}
	content, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if len(content) > maxFile {
		return nil, newFailure("%s is longer than the %d bytes that are read", name, maxFile)
	}
	return content, err
}

// save replaces the whole content of the file or nothing, and makes missing directories. A hard link to a file elsewhere
// is broken by this, because a new file takes the name.
func (p fileRef) save(content []byte) error {
	root, name, done, err := p.open()
	if err != nil {
		return err
	}
	defer done()
	mode := fs.FileMode(0o666)
	switch info, err := root.Lstat(name); {
	case err == nil && !info.Mode().IsRegular():
		return newFailure("%s is not a regular file", p.rel)
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
	if err == nil && mode != 0o666 { // the umask applies to a new file
		err = f.Chmod(mode)
	}
	if err == nil {
		err = f.Sync() // the file must be on disk before the result that reports it
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	return root.Rename(temp, name)
}

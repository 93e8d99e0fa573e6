package store

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/failpoint"
)

// tempPrefix begins the names of unfinished files. [Store.SweepTemps] removes those left by a crash.
const tempPrefix = ".tmp-"

// IsTemp reports whether a file name belongs to an unfinished write, which all readers ignore.
func IsTemp(name string) bool { return strings.HasPrefix(path.Base(name), tempPrefix) }

// Write replaces a file in one step and makes it durable: after it returns, neither a crash nor a power loss
// undoes it. It makes the directory. The result is the reference for an event.
func (s *Store) Write(name string, data []byte) (event.Ref, error) {
	if err := s.replace(name, true, writeParts(data)); err != nil {
		return event.Ref{}, s.wrapError("write "+name, err)
	}
	return Ref(name, data), nil
}

// Ref returns the reference to a file with the content, as [Store.Write] does once the file is durable.
func Ref(name string, data []byte) event.Ref {
	sum := sha256.Sum256(data)
	return event.Ref{Path: name, SHA256: hex.EncodeToString(sum[:]), Size: int64(len(data))}
}

// Replace replaces a file in one step without waiting for the disk; readers see the old or the new content, also after
// a crash. It is for files that can be derived again, such as context files. The content is all parts in a row.
func (s *Store) Replace(name string, parts ...[]byte) error {
	return s.ReplaceWith(name, writeParts(parts...))
}

// ReplaceWith replaces a file as [Store.Replace] does, with the content that write produces.
func (s *Store) ReplaceWith(name string, write func(io.Writer) error) error {
	return s.wrapError("write "+name, s.replace(name, false, write))
}

// Clear leaves an empty file at the name in one step, as Replace without content does. A missing file is made
// in place, since an empty file is never half written.
func (s *Store) Clear(name string) error {
	f, err := s.open(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY|syscall.O_NONBLOCK)
	if err != nil {
		return s.Replace(name)
	}
	return f.Close()
}

// writeParts returns a function that writes all parts in a row.
func writeParts(parts ...[]byte) func(io.Writer) error {
	return func(w io.Writer) error {
		for _, part := range parts {
			if _, err := w.Write(part); err != nil {
				return err
			}
		}
		return nil
	}
}

// Ensure writes a file that is absent or empty and leaves any other unchanged.
func (s *Store) Ensure(name string, data []byte) error {
	info, err := s.stat(name)
	switch {
	case err == nil && info.Size() > 0:
		return nil
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return s.wrapError("inspect "+name, err)
	}
	return s.Replace(name, data)
}

// Append adds one line and its newline to a file, and makes the file and its directory if needed. It first
// ends a line that a crash cut off. It does not wait for the disk and expects one writer at a time.
func (s *Store) Append(name string, line []byte) error {
	f, err := s.OpenFile(name, os.O_CREATE|os.O_RDWR|os.O_APPEND|syscall.O_NONBLOCK)
	if err != nil {
		return err
	}
	defer f.Close()
	text := slices.Concat(line, []byte{'\n'})
	if info, err := f.Stat(); err == nil && info.Size() > 0 {
		var last [1]byte
		if _, err := f.ReadAt(last[:], info.Size()-1); err == nil && last[0] != '\n' {
			text = slices.Concat([]byte{'\n'}, text)
		}
	}
	failpoint.Point("rundir.append.before")
	if _, err := f.Write(text); err != nil {
		return s.wrapError("append to "+name, err)
	}
	failpoint.Point("rundir.append.after")
	return nil
}

// SweepTemps removes the files of unfinished writes and returns their number. Only the holder of the session's
// lock may call it.
func (s *Store) SweepTemps() (int, error) {
	removed := 0
	err := fs.WalkDir(s.root.FS(), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil && name != "." && errors.Is(err, fs.ErrNotExist) {
			return nil // renamed by its writer meanwhile
		}
		if err != nil || d.IsDir() || !IsTemp(name) {
			return err
		}
		failpoint.BeforeRemove(s.path, name)
		if err := s.root.Remove(filepath.FromSlash(name)); !errors.Is(err, fs.ErrNotExist) {
			failpoint.Point("rundir.sweep.removed")
			removed++
			return err
		}
		return nil
	})
	return removed, s.wrapError("remove unfinished files", err)
}

func (t *tree) replace(name string, durable bool, write func(io.Writer) error) error {
	dir := path.Dir(name)
	p, err := t.acquireDir(dir)
	if err != nil {
		if err := t.mkdirAll(dir, dirMode); err != nil {
			return err
		}
		if p, err = t.acquireDir(dir); err != nil {
			return err
		}
	}
	defer t.dirs.release(p)
	if err := p.replace(path.Base(name), durable, write); err != nil || !durable {
		return prefixDir(dir, err)
	}
	err = t.syncWithParents(dir, p.root)
	failpoint.Point("rundir.write.after-sync")
	return err
}

func (p *cachedDir) replace(base string, durable bool, write func(io.Writer) error) (err error) {
	failpoint.Point("rundir.write.before-temp")
	temp := tempPrefix + rand.Text()
	defer func() {
		if err != nil {
			failpoint.BeforeRemove(p.root.Name(), temp)
			_ = p.root.Remove(temp)
		}
	}()
	if err := p.writeTemp(temp, durable, write); err != nil {
		return err
	}
	failpoint.Point("rundir.write.before-rename")
	failpoint.BeforeRename(p.root.Name(), temp, base)
	if err := p.root.Rename(temp, base); err != nil {
		return p.replaceError(base, err)
	}
	failpoint.Point("rundir.write.after-rename")
	return nil
}

// replaceError returns the error of a rename with the target's name instead of the temporary name.
func (p *cachedDir) replaceError(base string, err error) error {
	var renamed *os.LinkError
	if !errors.As(err, &renamed) {
		return err
	}
	cause := renamed.Err
	if info, err := p.root.Lstat(base); err == nil && info.IsDir() {
		cause = syscall.EISDIR // which the os package calls "file exists"
	}
	return &fs.PathError{Op: "replace", Path: base, Err: cause}
}

// writeTemp writes a temporary file. The non-blocking flag keeps the os package from trying to poll a regular
// file.
func (p *cachedDir) writeTemp(temp string, durable bool, write func(io.Writer) error) error {
	failpoint.BeforeWrite(p.root.Name(), temp)
	f, err := p.root.OpenFile(temp, os.O_CREATE|os.O_EXCL|os.O_WRONLY|syscall.O_NONBLOCK, fileMode)
	if err != nil {
		return err
	}
	err = write(f)
	failpoint.Point("rundir.write.filled")
	if err == nil && durable && !failpoint.HasDefect(failpoint.SkipSync) {
		err = f.Sync()
		failpoint.AfterSync(p.root.Name(), temp)
	}
	return errors.Join(err, f.Close())
}

// syncWithParents makes the entries of a directory durable, and those of its parents unless these are known to be
// durable.
func (t *tree) syncWithParents(dir string, root *os.Root) error {
	if err := syncRoot(root); err != nil {
		return err
	}
	return t.syncParents(dir)
}

// syncParents makes a directory's own entry durable, and those of its parents unless these are known to be durable. A
// directory counts as durable only when all its parents are.
func (t *tree) syncParents(dir string) error {
	var made []string
	for ; dir != "." && !t.synced.has(dir); dir = path.Dir(dir) {
		if err := t.syncDir(path.Dir(dir)); err != nil {
			return err
		}
		made = append(made, dir)
	}
	for _, dir := range made {
		t.synced.add(dir)
	}
	return nil
}

// SyncParents makes a directory durable without its entries, which makes later writes into it cheaper.
func (s *Store) SyncParents(dir string) error {
	return s.wrapError("make "+dir+" durable", s.syncParents(dir))
}

// SyncTree makes a directory durable with its current entries.
func (s *Store) SyncTree(dir string) error {
	p, err := s.acquireDir(dir)
	if err == nil {
		err = s.syncWithParents(dir, p.root)
		s.dirs.release(p)
	}
	return s.wrapError("make "+dir+" durable", err)
}

// Sync makes files durable that another process, such as an agent, wrote, with the entries of their directory
// dir. Names are relative to dir; missing and irregular files are ignored.
func (s *Store) Sync(dir string, names ...string) error {
	for _, base := range names {
		name := path.Join(dir, base)
		if info, err := s.stat(name); err != nil || !info.Mode().IsRegular() {
			continue // its reader reports the error
		}
		if err := s.syncFile(name); err != nil {
			return s.wrapError("make "+name+" durable", err)
		}
	}
	return s.SyncTree(dir)
}

func (t *tree) syncFile(name string) error {
	f, err := t.open(name, os.O_RDONLY|syscall.O_NONBLOCK)
	if err != nil {
		return err
	}
	defer f.Close()
	if err := f.Sync(); err != nil {
		return err
	}
	failpoint.BeforeWrite(t.path, name) // the other process's write was not recorded
	failpoint.AfterSync(t.path, name)
	return nil
}

func (t *tree) syncDir(name string) error {
	p, err := t.acquireDir(name)
	if err != nil {
		return err
	}
	defer t.dirs.release(p)
	return syncRoot(p.root)
}

// syncRoot makes the entries of a directory durable. File systems without support report an invalid request,
// which is ignored.
func syncRoot(root *os.Root) error {
	d, err := root.OpenFile(".", os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return err
	}
	defer d.Close()
	if err := d.Sync(); err != nil && !errors.Is(err, syscall.EINVAL) && !errors.Is(err, syscall.ENOTSUP) {
		return err
	}
	failpoint.AfterSyncDir(root.Name())
	return nil
}

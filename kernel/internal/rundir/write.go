package rundir

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/internal/crash"
)

// tempPrefix begins the names of files that are being written. One that a crash left behind is
// removed by [Store.SweepTemps].
const tempPrefix = ".tmp-"

// IsTemp reports whether a file name is that of an unfinished write, to be ignored by all readers.
func IsTemp(name string) bool { return strings.HasPrefix(path.Base(name), tempPrefix) }

// Write replaces a file in one step and makes it durable: after it returns, neither a crash nor a
// power loss undoes it. It makes the directory. The reference is what an event may name.
func (s *Store) Write(name string, data []byte) (event.Ref, error) {
	if err := s.replace(name, true, data); err != nil {
		return event.Ref{}, s.explain("write "+name, err)
	}
	sum := sha256.Sum256(data)
	return event.Ref{Path: name, SHA256: hex.EncodeToString(sum[:]), Size: int64(len(data))}, nil
}

// Replace replaces a file in one step without waiting for the disk: readers see the old content or
// the new, and so do they after a crash of the process. For what can be made again: views, context
// files. The content is that of all parts in a row.
func (s *Store) Replace(name string, parts ...[]byte) error {
	if err := s.replace(name, false, parts...); err != nil {
		return s.explain("write "+name, err)
	}
	return nil
}

// Ensure writes a file that is absent or empty and leaves any other alone.
func (s *Store) Ensure(name string, data []byte) error {
	info, err := s.root.Stat(filepath.FromSlash(name))
	switch {
	case err == nil && info.Size() > 0:
		return nil
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return s.explain("look at "+name, err)
	}
	return s.Replace(name, data)
}

// Append adds one line to a file and makes it and its directory if needed; the newline is added. A
// line that an earlier crash cut off is ended first, so that nothing glues to it. It does not wait
// for the disk and expects one writer at a time.
func (s *Store) Append(name string, line []byte) error {
	f, err := s.OpenFile(name, os.O_CREATE|os.O_RDWR|os.O_APPEND)
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
	if _, err := f.Write(text); err != nil {
		return s.explain("append to "+name, err)
	}
	return nil
}

// SweepTemps removes what unfinished writes left behind and returns how many there were. Only who
// holds the session may call it.
func (s *Store) SweepTemps() (int, error) {
	removed := 0
	err := fs.WalkDir(s.root.FS(), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil && name != "." && errors.Is(err, fs.ErrNotExist) {
			return nil // renamed by its writer meanwhile
		}
		if err != nil || d.IsDir() || !IsTemp(name) {
			return err
		}
		if err := s.root.Remove(filepath.FromSlash(name)); !errors.Is(err, fs.ErrNotExist) {
			removed++
			return err
		}
		return nil
	})
	if err != nil {
		return removed, s.explain("remove unfinished files", err)
	}
	return removed, nil
}

func (s *Store) replace(name string, durable bool, parts ...[]byte) (err error) {
	dir := path.Dir(name)
	if err := s.mkdirAll(dir, dirMode); err != nil {
		return err
	}
	crash.Point("rundir.write.before-temp")
	temp := filepath.FromSlash(path.Join(dir, tempPrefix+rand.Text()))
	defer func() {
		if err != nil {
			_ = s.root.Remove(temp)
		}
	}()
	if err := s.fill(temp, durable, parts); err != nil {
		return err
	}
	crash.Point("rundir.write.before-rename")
	if err := s.root.Rename(temp, filepath.FromSlash(name)); err != nil {
		return err
	}
	crash.Point("rundir.write.after-rename")
	if durable {
		return s.syncDir(dir)
	}
	return nil
}

func (s *Store) fill(temp string, durable bool, parts [][]byte) error {
	f, err := s.root.OpenFile(temp, os.O_CREATE|os.O_EXCL|os.O_WRONLY, fileMode)
	if err != nil {
		return err
	}
	for _, part := range parts {
		if _, err = f.Write(part); err != nil {
			break
		}
	}
	if err == nil && durable {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}

// syncDir makes the entries of a directory durable. File systems that cannot do so say that the
// request is invalid; there is nothing more to do on them.
func (s *Store) syncDir(name string) error {
	d, err := s.root.Open(filepath.FromSlash(name))
	if err != nil {
		return err
	}
	defer d.Close()
	if err := d.Sync(); err != nil && !errors.Is(err, syscall.EINVAL) && !errors.Is(err, syscall.ENOTSUP) {
		return err
	}
	return nil
}

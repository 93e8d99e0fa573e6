package scaffold

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"slices"
	"strings"
)

// Result is the result of writing files into a directory. The paths are relative to it, sorted.
type Result struct {
	Written []string
	// Existing lists the files that existed already: with the same contents, or [Shared].
	Existing []string
}

// Shared is the file of a project to which other programs may have written. An existing file is not changed.
const Shared = ".claude/.gitignore"

// ExistsError is the error for files that exist already, with other contents. Nothing was written.
type ExistsError struct {
	Dir   string
	Files []string // relative to Dir, sorted
}

// Error implements error.
func (e *ExistsError) Error() string {
	verb := "is"
	if len(e.Files) > 1 {
		verb = "are"
	}
	return fmt.Sprintf("%s %s there already", strings.Join(e.Files, ", "), verb)
}

// Place writes files, by their slash-separated paths, into a directory, which it makes. No file is overwritten: the
// error is *[ExistsError] if a file with other contents exists. Nothing is written outside of the directory, and after
// a failure written files are removed.
func Place(dir string, files map[string][]byte) (Result, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return Result{}, fmt.Errorf("make the directory: %w", err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return Result{}, fmt.Errorf("open the directory: %w", err)
	}
	defer root.Close()
	missing, p, err := compared(root, dir, files)
	if err != nil {
		return Result{}, err
	}
	for _, name := range missing {
		if err := create(root, name, files[name]); err != nil {
			for _, written := range p.Written {
				err = errors.Join(err, root.Remove(written))
			}
			return Result{}, fmt.Errorf("write into %s: %w", dir, err)
		}
		p.Written = append(p.Written, name)
	}
	return p, nil
}

// compared finds out which files are missing and which can stay.
func compared(root *os.Root, dir string, files map[string][]byte) (missing []string, p Result, err error) {
	var differ []string
	for _, name := range slices.Sorted(maps.Keys(files)) {
		current, err := root.ReadFile(name)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			missing = append(missing, name)
		case err == nil && (name == Shared || bytes.Equal(current, files[name])):
			p.Existing = append(p.Existing, name)
		case err == nil || isDir(root, name):
			differ = append(differ, name)
		default:
			return nil, Result{}, fmt.Errorf("look into %s: %w", dir, err)
		}
	}
	if len(differ) > 0 {
		return nil, Result{}, &ExistsError{Dir: dir, Files: differ}
	}
	return missing, p, nil
}

func isDir(root *os.Root, name string) bool {
	info, err := root.Stat(name)
	return err == nil && info.IsDir()
}

// create writes a file that does not exist yet, and makes the folders above it.
func create(root *os.Root, name string, text []byte) error {
	if err := root.MkdirAll(path.Dir(name), 0o755); err != nil {
		return err
	}
	mode := fs.FileMode(0o644)
	if path.Ext(name) == ".sh" {
		mode = 0o755
	}
	to, err := root.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, mode)
	if err != nil {
		return err
	}
	_, err = to.Write(text)
	if err = errors.Join(err, to.Close()); err != nil {
		return errors.Join(err, root.Remove(name))
	}
	return nil
}

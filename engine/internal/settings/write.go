package settings

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/dodo-digital/agent-pipelines/engine/internal/yamlwrite"
	"github.com/dodo-digital/agent-pipelines/kernel/dialect"
	"github.com/dodo-digital/agent-pipelines/kernel/yamldoc"
)

// Set sets a key in the user's file, in the configuration directory dir, and makes the file if there is none. Comments
// and other settings stay. Nothing is written if the file has faults, or would have some with the value: the returned
// list holds them. The file is replaced in one step. A directory inside the project (foreign) is an error.
func Set(dir string, foreign bool, key Key, value string) (yamldoc.Diagnostics, error) {
	file := filepath.Join(dir, FileName)
	var data []byte
	switch _, err := os.Lstat(file); {
	case foreign:
		return nil, fmt.Errorf("%s lies inside the project and may not be yours", file)
	case errors.Is(err, fs.ErrNotExist):
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return nil, err
		}
	default:
		var problem, hint string
		if data, problem, hint = content(file); problem != "" {
			var found yamldoc.Diagnostics
			Place{File: file, Pos: dialect.FileStart}.in(&found).Errorf(yamldoc.CodeRead, hint, "%s", problem)
			return found, nil
		}
		if file, err = filepath.EvalSymlinks(file); err != nil {
			return nil, err
		}
	}
	root, err := os.OpenRoot(filepath.Dir(file))
	if err != nil {
		return nil, err
	}
	defer root.Close()
	return openFile{root, filepath.Base(file), filepath.Join(dir, FileName), 0o600}.set(data, key, value)
}

// SetProject is [Set] for the project's file. A link, or a file in a linked directory, is an error.
func SetProject(project string, key Key, value string) (yamldoc.Diagnostics, error) {
	root, err := os.OpenRoot(project)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	for _, name := range []string{filepath.Dir(ProjectFile), ProjectFile} {
		if info, err := root.Lstat(name); err == nil && info.Mode()&fs.ModeSymlink != 0 {
			return nil, fmt.Errorf("%s is a link: change the file that it leads to", name)
		}
	}
	data, _, problem := projectContent(root)
	if problem != "" {
		return nil, fmt.Errorf("%s: %s", ProjectFile, problem)
	}
	return openFile{root, ProjectFile, ProjectFile, 0o644}.set(data, key, value)
}

// openFile is a settings file below an open directory.
type openFile struct {
	root  *os.Root
	name  string
	shown string      // its name in faults
	mode  fs.FileMode // of a new file
}

// set sets the key in the file, whose content is data. If the file has faults before or after the change, set only
// returns them.
func (f openFile) set(data []byte, key Key, value string) (yamldoc.Diagnostics, error) {
	if _, found := Parse(f.shown, data); found.HasErrors() {
		return found, nil
	}
	changed, err := yamlwrite.Set(data, key.Path, value, key.Text)
	if err != nil {
		return nil, fmt.Errorf("set %s in %s: %w", key, f.shown, err)
	}
	_, found := Parse(f.shown, changed)
	if found.HasErrors() {
		return found, nil
	}
	if err := f.root.MkdirAll(filepath.Dir(f.name), 0o755); err != nil {
		return nil, err
	}
	return found, f.replace(changed)
}

// replace replaces the file in one step and keeps its mode.
func (f openFile) replace(data []byte) (err error) {
	if info, err := f.root.Stat(f.name); err == nil {
		f.mode = info.Mode().Perm()
	}
	temp := filepath.Join(filepath.Dir(f.name), ".tmp-"+rand.Text())
	defer func() {
		if err != nil {
			_ = f.root.Remove(temp)
		}
	}()
	to, err := f.root.OpenFile(temp, os.O_CREATE|os.O_EXCL|os.O_WRONLY, f.mode)
	if err != nil {
		return err
	}
	_, err = to.Write(data)
	if err = errors.Join(err, to.Chmod(f.mode), to.Sync(), to.Close()); err != nil {
		return err
	}
	return f.root.Rename(temp, f.name)
}

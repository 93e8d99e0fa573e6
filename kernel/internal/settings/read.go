package settings

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/dodo-digital/agent-pipelines/kernel/internal/diagnostic"
	"github.com/dodo-digital/agent-pipelines/kernel/internal/pluginhost/discovery"
	"github.com/dodo-digital/agent-pipelines/kernel/internal/yamltree"
)

// Read reads config.yaml in the user's configuration directory. No file says nothing. A file that
// others could have written is a fault: it may name programs to be run. One in a directory of which
// foreign says that it is the project's is passed over with a warning. The settings are to be used where
// the list has no errors.
func Read(dir string, foreign func(dir string) bool) (Settings, diagnostic.List) {
	path := filepath.Join(dir, FileName)
	if _, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) {
		return Settings{}, nil
	}
	var found diagnostic.List
	whole := diagnostic.Document{File: path, List: &found}
	if foreign(dir) {
		whole.Warnf(beginning, diagnostic.CodeNoEffect, "move it to ~/.config/agent-pipelines, or run `agent-pipelines trust "+dir+"` if you trust it",
			"the file lies inside the project, which must not bring its own settings")
		return Settings{}, found
	}
	data, problem, hint := content(path)
	if problem != "" {
		whole.Errorf(beginning, diagnostic.CodeRead, hint, "%s", problem)
		return Settings{}, found
	}
	return Parse(path, data)
}

// beginning is the place of what concerns the whole file.
var beginning = yamltree.Pos{Line: 1, Column: 1}

// content reads the file, or says why not and what to do.
func content(path string) (data []byte, problem, hint string) {
	target, err := filepath.EvalSymlinks(path)
	if err != nil {
		return nil, diagnostic.Problem(err), "correct the link or remove it"
	}
	info, err := os.Stat(target)
	switch {
	case err != nil:
		return nil, diagnostic.Problem(err), ""
	case !info.Mode().IsRegular():
		return nil, "it is no regular file", "move it away"
	}
	for _, place := range []string{target, filepath.Dir(target), filepath.Dir(path)} {
		info, err := os.Stat(place)
		if err != nil {
			return nil, diagnostic.Problem(err), ""
		}
		if reason := discovery.Exposed(info); reason != "" {
			return nil, place + " is " + reason, "settings may name programs to be run, so only you or root may be able to write them"
		}
	}
	if data, problem = diagnostic.ReadFile(target); problem != "" {
		return nil, problem, "let yourself read it (chmod u+r), or move it away"
	}
	return data, "", ""
}

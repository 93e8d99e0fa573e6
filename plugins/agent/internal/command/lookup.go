package command

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/dodo-digital/agent-pipelines/plugins/agent/internal/workspace"
)

// MissingError says that an allowed program is not there.
type MissingError struct{ Program string }

// Error implements error.
func (e *MissingError) Error() string {
	return fmt.Sprintf("no program %q on PATH outside the workspace; a person has to install it", e.Program)
}

// SearchPath is the value of PATH without what a project could have put its own programs into: relative entries and
// those in the workspace.
func SearchPath(value string, ws *workspace.Dir) string {
	var kept []string
	for _, dir := range filepath.SplitList(value) {
		if filepath.IsAbs(dir) && !within(ws, dir) {
			kept = append(kept, dir)
		}
	}
	return strings.Join(kept, string(filepath.ListSeparator))
}

// within reports whether an absolute path lies in the workspace, as it is written or where its links lead.
func within(ws *workspace.Dir, abs string) bool {
	if _, inside := ws.Rel(abs); inside {
		return true
	}
	target, err := filepath.EvalSymlinks(abs)
	if err != nil {
		return false
	}
	_, inside := ws.Rel(target)
	return inside
}

// find is the program's file.
func (r Rules) find(name string) (string, error) {
	names := []string{name}
	if name == "python" {
		names = append(names, "python3") // some systems have no other
	}
	for _, name := range names {
		for _, dir := range filepath.SplitList(SearchPath(r.Path, r.Workspace)) {
			file := filepath.Join(dir, name)
			info, err := os.Stat(file)
			if err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0 && !within(r.Workspace, file) {
				return file, nil
			}
		}
	}
	return "", &MissingError{Program: name}
}

package command

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/dodo-digital/agent-pipelines/plugins/agent/internal/workspace"
)

// SearchPath returns the value of PATH without entries where a project could place programs: relative entries and
// directories in the workspace.
func SearchPath(value string, ws *workspace.Dir) string {
	var kept []string
	for _, dir := range filepath.SplitList(value) {
		if filepath.IsAbs(dir) && !insideWorkspace(ws, dir) {
			kept = append(kept, dir)
		}
	}
	return strings.Join(kept, string(filepath.ListSeparator))
}

// insideWorkspace reports whether an absolute path is in the workspace, as text or after its links are followed.
func insideWorkspace(ws *workspace.Dir, abs string) bool {
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

// findProgram returns the absolute path of the program's file.
func (r Rules) findProgram(name string) (string, error) {
	names := []string{name}
	if name == "python" {
		names = append(names, "python3") // some systems have only python3
	}
	for _, name := range names {
		for _, dir := range filepath.SplitList(SearchPath(r.Path, r.Workspace)) {
			file := filepath.Join(dir, name)
			info, err := os.Stat(file)
			if err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0 && !insideWorkspace(r.Workspace, file) {
				return file, nil
			}
		}
	}
	return "", fmt.Errorf("no program %q on PATH outside the workspace; ask the user to install it", name)
}

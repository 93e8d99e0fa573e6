package cliagent

import (
	"path/filepath"
	"slices"
	"strings"
)

// Paths converts the paths of an agent's tool call to the form of [sdk.ToolCall]. They become relative to the
// working directory dir, cleaned, with slashes, unique and not empty. A path outside dir is only cleaned. The
// path dir may contain symbolic links.
func Paths(dir string, names ...string) []string {
	var paths []string
	for _, name := range names {
		if name == "" {
			continue
		}
		if name = within(dir, name); !slices.Contains(paths, name) {
			paths = append(paths, name)
		}
	}
	return paths
}

func within(dir, name string) string {
	name = filepath.Clean(name)
	if !filepath.IsAbs(name) {
		return filepath.ToSlash(name)
	}
	roots := []string{dir}
	if target, err := filepath.EvalSymlinks(dir); err == nil && target != dir {
		roots = append(roots, target)
	}
	for _, root := range roots {
		inside, err := filepath.Rel(root, name)
		if err == nil && inside != ".." && !strings.HasPrefix(inside, ".."+string(filepath.Separator)) {
			return filepath.ToSlash(inside)
		}
	}
	return name
}

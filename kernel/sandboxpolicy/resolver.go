package sandboxpolicy

import (
	"errors"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
)

// Resolver resolves paths relative to the project and the home directory.
type Resolver struct {
	// Project and Home are absolute; Home is "" if it is unknown.
	Project, Home string
	// Variable returns the value of a variable of the user's environment; "" for none.
	Variable func(name string) string
}

// ResolveGrants resolves granted paths, relative to the project, to absolute paths without symbolic links. A missing
// path is a failure of kind config_invalid, because it cannot be granted after the start. So is a path that leads out
// of the project or of a path in writable through a link. An agent may have made the link.
func (r Resolver) ResolveGrants(key string, written, writable []string) ([]string, error) {
	if len(written) == 0 {
		return nil, nil
	}
	roots := r.writableRoots(writable)
	paths := make([]string, 0, len(written))
	for _, w := range written {
		abs, ok := r.expand(w)
		if !ok {
			return nil, failure.New(failure.ConfigInvalid, "sandbox grants %s of %q, but the home directory is unknown", key, w).
				WithHint("set HOME, or write an absolute path")
		}
		resolved, err := filepath.EvalSymlinks(abs)
		if err != nil {
			return nil, failure.New(failure.ConfigInvalid, "sandbox grants %s of %s: %w", key, abs, reason(err)).
				WithHint("create it before the run, or remove it from sandbox.%s", key)
		}
		if leavesRoots(abs, resolved, roots) {
			return nil, failure.New(failure.ConfigInvalid, "sandbox grants %s of %s, which leads to %s through a symbolic link: an agent may have made it", key, abs, resolved).
				WithHint("if this is intended, grant %s itself", resolved)
		}
		paths = append(paths, resolved)
	}
	return paths, nil
}

// Grants reports whether a process may read path: the project, or one of the granted paths, holds it. path is absolute
// and need not exist.
func (r Resolver) Grants(granted []string, path string) bool {
	names := []string{path}
	for dir, rest := path, ""; dir != filepath.Dir(dir); dir, rest = filepath.Dir(dir), filepath.Join(filepath.Base(dir), rest) {
		if resolved, err := filepath.EvalSymlinks(dir); err == nil {
			names = append(names, filepath.Join(resolved, rest))
			break
		}
	}
	return slices.ContainsFunc(r.writableRoots(granted), func(root string) bool {
		return slices.ContainsFunc(names, func(name string) bool { return Within(name, root) })
	})
}

// writableRoots returns the directories that agents may write, without symbolic links.
func (r Resolver) writableRoots(writable []string) []string {
	var roots []string
	for _, w := range append([]string{r.Project}, writable...) {
		if abs, ok := r.expand(w); ok {
			if resolved, err := filepath.EvalSymlinks(abs); err == nil {
				roots = append(roots, resolved)
			}
		}
	}
	return roots
}

// leavesRoots reports whether a path goes through one of the roots and ends outside of it.
func leavesRoots(abs, resolved string, roots []string) bool {
	for dir := filepath.Dir(abs); ; dir = filepath.Dir(dir) {
		through, err := filepath.EvalSymlinks(dir)
		if err == nil && slices.ContainsFunc(roots, func(root string) bool { return Within(through, root) && !Within(resolved, root) }) {
			return true
		}
		if dir == filepath.Dir(dir) {
			return false
		}
	}
}

// Within reports whether path is dir or below it; both are absolute and clean.
func Within(path, dir string) bool {
	return path == dir || strings.HasPrefix(path, strings.TrimSuffix(dir, "/")+"/")
}

// ResolveNeeds resolves the paths that a component requests ([sdk.Needs]). It skips missing paths, and relative paths
// that begin with neither ~/ nor ${.
func (r Resolver) ResolveNeeds(asked []string) []string {
	var paths []string
	for _, a := range asked {
		abs, ok := r.expand(a)
		if !ok || !filepath.IsAbs(a) && !strings.HasPrefix(a, "~/") && !strings.HasPrefix(a, "${") {
			continue
		}
		if resolved, err := filepath.EvalSymlinks(abs); err == nil {
			paths = append(paths, resolved)
		}
	}
	return paths
}

// expand returns the path with ~ and ${NAME} replaced; a relative path is relative to the project. ok is false if the
// home directory or the variable is not an absolute path.
func (r Resolver) expand(w string) (path string, ok bool) {
	if rest, in := strings.CutPrefix(w, "~"); in && (rest == "" || rest[0] == '/') {
		return filepath.Join(r.Home, rest), filepath.IsAbs(r.Home)
	}
	if name, rest, in := strings.Cut(strings.TrimPrefix(w, "${"), "}"); in && strings.HasPrefix(w, "${") {
		base := r.Variable(name)
		return filepath.Join(base, rest), filepath.IsAbs(base)
	}
	if !filepath.IsAbs(w) {
		w = filepath.Join(r.Project, w)
	}
	return filepath.Clean(w), true
}

func reason(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return errors.New("it does not exist")
	}
	return err
}

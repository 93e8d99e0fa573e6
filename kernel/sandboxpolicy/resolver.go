package sandboxpolicy

import (
	"errors"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
)

// Places are what paths are relative to.
type Resolver struct {
	// Project and Home are absolute; Home is "" where it is not known.
	Project, Home string
	// Variable is the value of a variable of the user's environment, "" for none.
	Variable func(name string) string
}

// Grants resolves paths that somebody grants, relative to the project: absolute ones with all symbolic links
// followed. One that does not exist is a failure of kind config_invalid: what is missing when the process
// starts cannot be granted later. So is one that leads out of the project, or of another path in writable, by
// a link: whoever may write there could have made it.
func (p Resolver) Grants(key string, written, writable []string) ([]string, error) {
	if len(written) == 0 {
		return nil, nil
	}
	roots := p.writableRoots(writable)
	paths := make([]string, 0, len(written))
	for _, w := range written {
		abs, ok := p.expand(w)
		if !ok {
			return nil, failure.New(failure.ConfigInvalid, "sandbox grants %s of %q, and it is not known where the home directory is", key, w).
				WithHint("set HOME, or write an absolute path")
		}
		resolved, err := filepath.EvalSymlinks(abs)
		if err != nil {
			return nil, failure.New(failure.ConfigInvalid, "sandbox grants %s of %s: %w", key, abs, reason(err)).
				WithHint("make it before the run, or take it out of sandbox.%s", key)
		}
		if leavesRoots(abs, resolved, roots) {
			return nil, failure.New(failure.ConfigInvalid, "sandbox grants %s of %s, which a symbolic link leads to %s: an agent may have made it", key, abs, resolved).
				WithHint("grant %s by that name if you mean it", resolved)
		}
		paths = append(paths, resolved)
	}
	return paths, nil
}

// writableRoots are where agents may write, with all links followed.
func (p Resolver) writableRoots(writable []string) []string {
	var roots []string
	for _, w := range append([]string{p.Project}, writable...) {
		if abs, ok := p.expand(w); ok {
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
		if err == nil && slices.ContainsFunc(roots, func(r string) bool { return within(through, r) && !within(resolved, r) }) {
			return true
		}
		if dir == filepath.Dir(dir) {
			return false
		}
	}
}

// within reports whether path is dir or lies below it.
func within(path, dir string) bool {
	return path == dir || strings.HasPrefix(path, strings.TrimSuffix(dir, "/")+"/")
}

// Needs resolves the paths that a component asks for ([sdk.Needs]); those that do not exist are left out.
func (p Resolver) Needs(asked []string) []string {
	var paths []string
	for _, a := range asked {
		abs, ok := p.expand(a)
		if !ok || !filepath.IsAbs(a) && !strings.HasPrefix(a, "~/") && !strings.HasPrefix(a, "${") {
			continue
		}
		if resolved, err := filepath.EvalSymlinks(abs); err == nil {
			paths = append(paths, resolved)
		}
	}
	return paths
}

// expand is the path without what stands for another; ok is false where that is not known.
func (p Resolver) expand(w string) (path string, ok bool) {
	if rest, in := strings.CutPrefix(w, "~"); in && (rest == "" || rest[0] == '/') {
		return filepath.Join(p.Home, rest), filepath.IsAbs(p.Home)
	}
	if name, rest, in := strings.Cut(strings.TrimPrefix(w, "${"), "}"); in && strings.HasPrefix(w, "${") {
		base := p.Variable(name)
		return filepath.Join(base, rest), filepath.IsAbs(base)
	}
	if !filepath.IsAbs(w) {
		w = filepath.Join(p.Project, w)
	}
	return filepath.Clean(w), true
}

func reason(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return errors.New("it does not exist")
	}
	return err
}

package confine

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"

	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
)

// Places are what paths are relative to.
type Places struct {
	// Project and Home are absolute; Home is "" where it is not known.
	Project, Home string
	// Variable is the value of a variable of the user's environment, "" for none.
	Variable func(name string) string
}

// Grants resolves paths that somebody grants, relative to the project: absolute ones with all symbolic links
// followed. One that does not exist is a failure of kind config_invalid: what is missing when the process
// starts cannot be granted later.
func (p Places) Grants(key string, written []string) ([]string, error) {
	paths := make([]string, 0, len(written))
	for _, w := range written {
		abs, ok := p.absolute(w)
		if !ok {
			return nil, failure.New(failure.ConfigInvalid, "sandbox grants %s of %q, and it is not known where the home directory is", key, w).
				WithHint("set HOME, or write an absolute path")
		}
		resolved, err := filepath.EvalSymlinks(abs)
		if err != nil {
			return nil, failure.New(failure.ConfigInvalid, "sandbox grants %s of %s: %w", key, abs, reason(err)).
				WithHint("make it before the run, or take it out of sandbox.%s", key)
		}
		paths = append(paths, resolved)
	}
	return paths, nil
}

// Needs resolves the paths that a component asks for ([sdk.Needs]); those that do not exist are left out.
func (p Places) Needs(asked []string) []string {
	var paths []string
	for _, a := range asked {
		abs, ok := p.absolute(a)
		if !ok || !filepath.IsAbs(a) && !strings.HasPrefix(a, "~/") && !strings.HasPrefix(a, "${") {
			continue
		}
		if resolved, err := filepath.EvalSymlinks(abs); err == nil {
			paths = append(paths, resolved)
		}
	}
	return paths
}

// absolute is the path without what stands for another; ok is false where that is not known.
func (p Places) absolute(w string) (path string, ok bool) {
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
		return fmt.Errorf("it does not exist: %w", fs.ErrNotExist)
	}
	return err
}

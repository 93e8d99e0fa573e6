package imports

import (
	"bytes"
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"
)

// homes matches a home directory and its user at the beginning of a path. It matches neither "$WORK/home/x" nor the
// end of a pattern.
var homes = regexp.MustCompile(`(?:^|[^\w.}+*/])(/(?:home|Users)/([A-Za-z0-9._-]+))`)

// users are the user names that examples and fixtures may use.
var users = []string{"user", "users", "you", "me", "alice", "ann", "bob", "dev", "runner", "x", "u"}

// CheckPlaces returns a violation for every line of a text file below root that contains a path of one machine: a
// home directory, or one of paths, such as the workspace's. It ignores paths of a single element, because they are
// too common.
func CheckPlaces(root fs.FS, paths ...string) ([]Violation, error) {
	paths = slices.DeleteFunc(paths, func(p string) bool { return strings.Count(path.Clean(p), "/") < 2 })
	var found []Violation
	err := fs.WalkDir(root, ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && slices.Contains([]string{".git", ".cache", "bin", "node_modules"}, d.Name()):
			return fs.SkipDir
		case !d.Type().IsRegular() || name == ".git": // a file in a linked work tree
			return nil
		}
		text, err := fs.ReadFile(root, name)
		if err != nil || bytes.IndexByte(text, 0) >= 0 {
			return err
		}
		for i, line := range strings.Split(string(text), "\n") {
			if place := placeIn(line, paths); place != "" {
				found = append(found, Violation{
					fmt.Sprintf("%s:%d", name, i+1), "names " + place,
					"a path of one machine is wrong on all others",
				})
			}
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("search for paths of one machine: %w", err)
	}
	return found, nil
}

func placeIn(line string, paths []string) string {
	for _, p := range paths {
		if strings.Contains(line, p) {
			return p
		}
	}
	for _, m := range homes.FindAllStringSubmatch(line, -1) {
		if !slices.Contains(users, m[2]) {
			return m[1]
		}
	}
	return ""
}

package command

import (
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/dodo-digital/agent-pipelines/plugins/agent/internal/workspace"
)

// argument refuses an argument that names, or may name, a place outside the workspace: as a whole, as the value of an
// option (--out=/x, -o/x), or as a part of a list (a:/x, a,/x). dir is where the program runs, relative to the workspace.
//
// It is careful rather than exact: a text that only looks like a path is refused too, unless the program's table knows
// the option as one that takes text.
func (r Rules) argument(dir, arg string) error {
	all, err := readings(arg)
	if err != nil {
		return err
	}
	for _, p := range all {
		if err := r.place(dir, p); err != nil {
			return err
		}
	}
	return nil
}

// readings are the paths that an argument may name.
func readings(arg string) ([]string, error) {
	var all []string
	if !strings.Contains(arg, "://") { // a name may have any of the characters at which it is taken apart below
		_, value, _ := strings.Cut(arg, "=")
		all = append(candidates(arg), value)
	}
	for _, field := range strings.FieldsFunc(arg, func(c rune) bool { return strings.ContainsRune("= \t\"'()", c) }) {
		if drive.MatchString(field) {
			return nil, &workspace.OutsideError{Path: field, Why: "it names a drive"}
		}
		if scheme, _, found := strings.Cut(field, "://"); found && !strings.ContainsAny(scheme, "/.:,@") {
			if !slices.Contains(schemes, strings.ToLower(strings.TrimLeft(scheme, "-"))) {
				return nil, refuse("%q is no address on the network", field)
			}
			continue
		}
		for _, piece := range strings.FieldsFunc(field, func(c rune) bool { return strings.ContainsRune(":,;@", c) }) {
			all = append(all, candidates(piece)...)
		}
	}
	return all, nil
}

var drive = regexp.MustCompile(`^-*[A-Za-z]:[\\/]`)

// schemes are those of addresses that do not name a file.
var schemes = []string{"http", "https", "ssh", "git", "git+https", "git+ssh", "git+http"}

// candidates are the readings of a piece as a path: as it is, and behind an option's letters.
func candidates(piece string) []string {
	if !strings.HasPrefix(piece, "-") {
		return []string{piece}
	}
	var all []string
	if strings.HasPrefix(piece, "--") {
		if i := strings.IndexAny(piece, "/~\\"); i >= 0 {
			all = append(all, strings.TrimLeft(piece, "-"), piece[i:])
		}
		return all
	}
	const mostLetters = 6
	for i := 2; i < min(len(piece), mostLetters); i++ {
		all = append(all, piece[i:])
	}
	if i := strings.IndexAny(piece, "/~\\"); i >= 0 {
		all = append(all, piece[i:])
	}
	return all
}

// place refuses a path that does not stay in the workspace, that belongs to git, whose files say what git runs, or that is
// guarded.
func (r Rules) place(dir, p string) error {
	switch {
	case p == "/dev/null" || p == "":
		return nil
	case strings.HasPrefix(p, "/"):
		rel, ok := r.Workspace.Rel(path.Clean(p))
		if !ok {
			return &workspace.OutsideError{Path: p, Why: "it is absolute"}
		}
		p = rel
	case strings.HasPrefix(p, "~"):
		return &workspace.OutsideError{Path: p, Why: "~ is a home directory"}
	case !strings.ContainsAny(p, "/.") && strings.Contains(p, `\`) && p[0] != '\\':
		return nil // a pattern such as \d+, not a way
	case dir != "":
		p = dir + "/" + p
	}
	resolved, err := r.Workspace.Resolve(p)
	if err != nil {
		return err
	}
	for part := range strings.SplitSeq(resolved, "/") {
		if strings.EqualFold(part, ".git") {
			return refuse("%s belongs to git, which runs what is configured there", resolved)
		}
	}
	return r.guard(resolved)
}

// guard refuses an existing path that holds secrets, or lies in one that does.
func (r Rules) guard(resolved string) error {
	if r.Guarded == nil || resolved == "." {
		return nil
	}
	if _, err := r.Workspace.Root().Lstat(resolved); err != nil {
		return nil //nolint:nilerr // what is not there has nothing to hide
	}
	for p := resolved; p != "."; p = path.Dir(p) {
		if r.Guarded(p) {
			return refuse("%s holds secrets", p)
		}
	}
	return nil
}

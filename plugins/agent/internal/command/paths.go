package command

import (
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/dodo-digital/agent-pipelines/plugins/agent/internal/workspace"
)

// inside refuses an argument that names, or may name, a place outside the workspace: as a whole, as the value of an option
// (--out=/x, -o/x), or as a part of a list (a:/x, a,/x). dir is where the program runs, relative to the workspace.
//
// It is careful rather than exact: a text that only looks like a path is refused too, unless the program's table knows
// the option as one that takes text.
func inside(ws *workspace.Dir, dir, arg string) error {
	for _, field := range strings.FieldsFunc(arg, func(r rune) bool { return strings.ContainsRune("= \t\"'()", r) }) {
		if drive.MatchString(field) {
			return &workspace.OutsideError{Path: field, Why: "it names a drive"}
		}
		if scheme, _, found := strings.Cut(field, "://"); found && !strings.ContainsAny(scheme, "/.:,@") {
			if !slices.Contains(schemes, strings.ToLower(strings.TrimLeft(scheme, "-"))) {
				return refuse("%q is no address on the network", field)
			}
			continue
		}
		for _, piece := range strings.FieldsFunc(field, func(r rune) bool { return strings.ContainsRune(":,;@", r) }) {
			for _, candidate := range candidates(piece) {
				if err := place(ws, dir, candidate); err != nil {
					return err
				}
			}
		}
	}
	return nil
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

// place refuses a path that does not stay in the workspace.
func place(ws *workspace.Dir, dir, p string) error {
	if p == "/dev/null" || p == "" {
		return nil
	}
	switch {
	case strings.HasPrefix(p, "/"):
		rel, ok := ws.Rel(path.Clean(p))
		if !ok {
			return &workspace.OutsideError{Path: p, Why: "it is absolute"}
		}
		p = rel
	case strings.HasPrefix(p, "~"):
		return &workspace.OutsideError{Path: p, Why: "~ is a home directory"}
	case !strings.ContainsAny(p, "/.") && strings.Contains(p, `\`) && p[0] != '\\':
		return nil // a pattern such as \d+, not a way
	default:
		p = dir + "/" + p
	}
	_, err := ws.Resolve(p)
	return err
}

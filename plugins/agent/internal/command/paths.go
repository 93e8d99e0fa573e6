package command

import (
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/dodo-digital/agent-pipelines/plugins/agent/internal/workspace"
)

// checkArguments refuses an argument that names, or may name, a place outside the workspace: as a whole, as the value of an
// option (--out=/x, -o/x), or as a part of a list (a:/x, a,/x).
//
// The check is strict rather than exact: a text that only looks like a path is refused too, unless the program's judge
// marked it as text.
func (r Rules) checkArguments(c *call) error {
	for i, arg := range c.args {
		if c.text[i] {
			continue
		}
		all, err := namedPaths(arg)
		if err != nil {
			return err
		}
		for _, p := range all {
			if err := r.checkPath(c.dir, p); err != nil {
				return err
			}
		}
	}
	return nil
}

// namedPaths returns the paths that an argument may name.
func namedPaths(arg string) ([]string, error) {
	var all []string
	if !strings.Contains(arg, "://") { // a name may contain the separators below
		_, value, _ := strings.Cut(arg, "=")
		all = append(pathCandidates(arg), value)
	}
	for _, field := range strings.FieldsFunc(arg, func(c rune) bool { return strings.ContainsRune("= \t\"'()", c) }) {
		if drive.MatchString(field) {
			return nil, &workspace.OutsideError{Path: field, Reason: "it names a drive"}
		}
		if scheme, _, found := strings.Cut(field, "://"); found && !strings.ContainsAny(scheme, "/.:,@") {
			if !slices.Contains(schemes, strings.ToLower(strings.TrimLeft(scheme, "-"))) {
				return nil, refuse("%q is not a network address", field)
			}
			continue
		}
		for _, piece := range strings.FieldsFunc(field, func(c rune) bool { return strings.ContainsRune(":,;@", c) }) {
			all = append(all, pathCandidates(piece)...)
		}
	}
	return all, nil
}

var drive = regexp.MustCompile(`^-*[A-Za-z]:[\\/]`)

// schemes are the schemes of addresses that do not name a file.
var schemes = []string{"http", "https", "ssh", "git", "git+https", "git+ssh", "git+http"}

// address matches an argument, or a part of one, with the address of another machine.
var address = regexp.MustCompile(`(?i)://|(^|[=,@:])(git\+|github:|gitlab:|bitbucket:|gist:)|^(-{1,2}[a-z-]+=)?[\w.-]+@[\w.-]+:|^--[a-z-]*(proxy|registry)`)

// repositoryName matches the short form OWNER/NAME with which npm and yarn name a repository of GitHub.
var repositoryName = regexp.MustCompile(`^[\w-][\w.-]*/[\w.-]+(#.*)?$`)

// remotePrograms are programs that do nothing without another machine.
var remotePrograms = strings.Fields("curl ftp gh glab hub nc ncat rsync scp sftp telnet twine wget")

// namesAddress reports whether an argument makes the program connect to an address of the caller's choice. Git has its
// own rules.
func (c *call) namesAddress(program string) bool {
	sub := firstOperand(c.args)
	switch {
	case program == "git":
		return false
	case program == "go" && sub == "get", slices.Contains(remotePrograms, program):
		return true
	}
	for i, arg := range c.args {
		switch {
		case c.text[i]:
		case address.MatchString(arg), program == "go" && strings.Contains(arg, "@") && (sub == "mod" || sub == "list"):
			return true
		case (program == "npm" || program == "yarn") && c.fetches && repositoryName.MatchString(arg) && !c.exists(arg):
			return true
		}
	}
	return false
}

// pathCandidates returns the texts in piece that may be paths: the whole piece, or the text after an option's letters.
func pathCandidates(piece string) []string {
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
	for i := 2; i < len(piece) && isLetterOrDigit(piece[i-1]); i++ {
		all = append(all, piece[i:])
	}
	if i := strings.IndexAny(piece, "/~\\"); i >= 0 {
		all = append(all, piece[i:])
	}
	return all
}

func isLetterOrDigit(c byte) bool { return 'a' <= c|0x20 && c|0x20 <= 'z' || '0' <= c && c <= '9' }

// checkPath refuses a path that leaves the workspace or is guarded, and a path of git, whose files name programs.
func (r Rules) checkPath(dir, p string) error {
	switch {
	case p == "/dev/null" || p == "":
		return nil
	case strings.HasPrefix(p, "/"):
		rel, ok := r.Workspace.Rel(path.Clean(p))
		if !ok {
			return &workspace.OutsideError{Path: p, Reason: "it is absolute"}
		}
		p = rel
	case strings.HasPrefix(p, "~"):
		return &workspace.OutsideError{Path: p, Reason: "~ is a home directory"}
	case !strings.ContainsAny(p, "/.") && strings.Contains(p, `\`) && p[0] != '\\':
		return nil // a pattern such as \d+, not a path
	case dir != "":
		p = dir + "/" + p
	}
	resolved, err := r.Workspace.Resolve(p)
	if err != nil {
		return err
	}
	for part := range strings.SplitSeq(resolved, "/") {
		if strings.EqualFold(part, ".git") {
			return refuse("%s belongs to git, which runs programs that are configured there", resolved)
		}
	}
	return r.checkGuarded(resolved)
}

// checkGuarded refuses an existing path that holds secrets, or is in a directory that does.
func (r Rules) checkGuarded(resolved string) error {
	if r.Guarded == nil || resolved == "." {
		return nil
	}
	if _, err := r.Workspace.Root().Lstat(resolved); err != nil {
		return nil //nolint:nilerr // a missing file holds no secrets
	}
	for p := resolved; p != "."; p = path.Dir(p) {
		if r.Guarded(p) {
			return refuse("%s holds secrets", p)
		}
	}
	return nil
}

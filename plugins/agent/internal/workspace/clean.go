package workspace

import (
	"fmt"
	"path"
	"path/filepath"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// MaxPath limits a path, in bytes (REQUIREMENTS C6).
const MaxPath = 4096

// OutsideError reports a path that is not certainly in the workspace.
type OutsideError struct {
	Path   string // as written by the caller
	Reason string
}

// Error implements error.
func (e *OutsideError) Error() string {
	return fmt.Sprintf("path %q is outside the workspace: %s", shorten(e.Path), e.Reason)
}

func shorten(p string) string {
	const most = 200
	if len(p) <= most {
		return p
	}
	return strings.ToValidUTF8(p[:most], "") + "…"
}

// pathFault returns the fault in the text of a path relative to the workspace, "" for none. Besides empty, long and
// non-UTF-8 text, faults are paths that lead outside, or that another program may read as such. These are absolute
// paths, drives, home directories, backslashes, characters that look like a dot or a slash, and invisible characters.
func pathFault(p string) string {
	switch {
	case p == "":
		return "it is empty"
	case len(p) > MaxPath:
		return fmt.Sprintf("it is longer than %d bytes", MaxPath)
	case !utf8.ValidString(p):
		return "it is not UTF-8"
	case strings.HasPrefix(p, "/"):
		return "it is absolute; give it relative to the workspace"
	case strings.HasPrefix(p, "~"):
		return "~ is a home directory"
	case strings.Contains(p, `\`):
		return "it has a backslash; directories are separated by /"
	case hasDrive(p):
		return "it names a drive"
	}
	for _, r := range p {
		if unicode.IsControl(r) || unicode.Is(unicode.Cf, r) {
			return fmt.Sprintf("it has the character %U, which cannot be seen", r)
		}
		if resemblesSeparator(r) {
			return fmt.Sprintf("%U looks like a dot or a slash and is neither", r)
		}
	}
	if !filepath.IsLocal(path.Clean(p)) {
		return "it leads to a directory above"
	}
	return ""
}

// hasDrive reports whether the path begins with a Windows drive such as C:.
func hasDrive(p string) bool {
	return len(p) >= 2 && p[1] == ':' && (p[0]|0x20 >= 'a' && p[0]|0x20 <= 'z')
}

// resemblesSeparator reports whether users, or programs that normalize names to Unicode form KC, may read a character
// as a dot or a slash. The list holds look-alikes without this form.
func resemblesSeparator(r rune) bool {
	return r >= utf8.RuneSelf &&
		(strings.ContainsRune("\u2044\u2215\u2216\u29f5\u29f8\u29f9\u3002\uff61", r) ||
			strings.ContainsAny(norm.NFKC.String(string(r)), `./\`))
}

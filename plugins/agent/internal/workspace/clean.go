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

// MaxPath is how many bytes a path has at most (REQUIREMENTS C6).
const MaxPath = 4096

// OutsideError says that a path is not, or is not surely, in the workspace.
type OutsideError struct {
	Path string // as it was given
	Why  string
}

// Error implements error.
func (e *OutsideError) Error() string {
	return fmt.Sprintf("path %q is outside the workspace: %s", shorten(e.Path), e.Why)
}

func shorten(p string) string {
	const most = 200
	if len(p) <= most {
		return p
	}
	return strings.ToValidUTF8(p[:most], "") + "…"
}

// Clean is the path relative to the workspace in its shortest form, with slashes, "." for the workspace itself.
// Refused, as an [*OutsideError], is what leads out and what another program might take for that: an absolute path, a
// drive, a home, a backslash, a character that looks like a dot or a slash, one that cannot be seen.
func Clean(p string) (string, error) {
	if why := suspicious(p); why != "" {
		return "", &OutsideError{Path: p, Why: why}
	}
	cleaned := path.Clean(p)
	if !filepath.IsLocal(cleaned) {
		return "", &OutsideError{Path: p, Why: "it leads to a directory above"}
	}
	return cleaned, nil
}

// suspicious says what is wrong with a path as it is written, "" if nothing is.
func suspicious(p string) string {
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
		if alike(r) {
			return fmt.Sprintf("%U looks like a dot or a slash and is none", r)
		}
	}
	return ""
}

// hasDrive reports whether the path begins like C: on Windows.
func hasDrive(p string) bool {
	return len(p) >= 2 && p[1] == ':' && (p[0]|0x20 >= 'a' && p[0]|0x20 <= 'z')
}

// alike reports whether a character is taken for a dot or a slash, by people or by programs that normalize names
// (Unicode's form KC). The list has those that look so and have no such form.
func alike(r rune) bool {
	return r >= utf8.RuneSelf &&
		(strings.ContainsRune("\u2044\u2215\u2216\u29f5\u29f8\u29f9\u3002\uff61", r) ||
			strings.ContainsAny(norm.NFKC.String(string(r)), `./\`))
}

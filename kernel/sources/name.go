package sources

import (
	"strconv"
	"strings"
	"unicode"
)

// maxNameBytes keeps file names with the prefix "parallel-NN-" below the limit of 255 bytes.
const maxNameBytes = 128

// Unquoted returns an escaped name without quotes. Scripts match the messages of the Bash engine, which have no
// quotes.
func Unquoted(name string) string { return strings.Trim(strconv.Quote(name), `"`) }

// NameFault returns the fault of a name that becomes part of a directory name; "" for a valid name. Letters of any
// script are allowed.
func NameFault(name string) string {
	switch {
	case name == "":
		return "is empty"
	case name == "." || name == "..":
		return "is not a directory name"
	case len(name) > maxNameBytes:
		return "is too long"
	case strings.ContainsAny(name, `/\`):
		return "contains a slash"
	case strings.ContainsFunc(name, unicode.IsControl):
		return "contains a control character"
	default:
		return ""
	}
}

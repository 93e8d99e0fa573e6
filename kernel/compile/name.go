package compile

import (
	"strconv"
	"strings"
	"unicode"
)

// maxNameBytes keeps file names with the prefix "parallel-NN-" below the limit of 255 bytes.
const maxNameBytes = 128

// unquoted returns an escaped name without quotes. Scripts match the messages of the Bash engine, which have no
// quotes.
func unquoted(name string) string { return strings.Trim(strconv.Quote(name), `"`) }

// nameFault returns the fault of a name that becomes part of a directory name; "" for a valid name. Letters of any
// script are allowed.
func nameFault(name string) string {
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

package compile

import (
	"strconv"
	"strings"
	"unicode"
)

// maxNameBytes leaves room for the prefix "parallel-NN-" within the 255 bytes of a file name.
const maxNameBytes = 128

// unquoted is a name for the messages whose words scripts of the Bash engine know, in which it has no quotes.
func unquoted(name string) string { return strings.Trim(strconv.Quote(name), `"`) }

// nameFault says what is wrong with a name that becomes part of a directory name, "" if nothing is.
// Letters of any script are allowed.
func nameFault(name string) string {
	switch {
	case name == "":
		return "is empty"
	case name == "." || name == "..":
		return "is no name of a directory"
	case len(name) > maxNameBytes:
		return "is too long"
	case strings.ContainsAny(name, `/\`):
		return "holds a slash"
	case strings.ContainsFunc(name, unicode.IsControl):
		return "holds a control character"
	default:
		return ""
	}
}

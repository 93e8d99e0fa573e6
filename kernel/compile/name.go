package compile

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/dodo-digital/agent-pipelines/plugin-sdk/nearest"
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

// didYouMean returns the hint for a wrong name: the nearest name and all candidates. It does not change the slice.
func didYouMean(name string, candidates []string) string {
	candidates = sortedUnique(slices.Clone(candidates))
	near := nearest.Name(name, candidates)
	switch {
	case near != "" && len(candidates) > 1:
		return fmt.Sprintf("did you mean %q? available: %s", near, strings.Join(candidates, ", "))
	case near != "":
		return fmt.Sprintf("did you mean %q?", near)
	case len(candidates) == 0:
		return "none is available"
	default:
		return "available: " + strings.Join(candidates, ", ")
	}
}

// sortedUnique sorts in place and removes repetitions and empty strings.
func sortedUnique(list []string) []string {
	list = slices.DeleteFunc(list, func(s string) bool { return s == "" })
	slices.Sort(list)
	return slices.Compact(list)
}

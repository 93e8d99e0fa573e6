package dialect

import (
	"fmt"
	"slices"
	"strings"

	"github.com/dodo-digital/agent-pipelines/plugin-sdk/nearest"
)

// DidYouMean returns the hint for a wrong name: the nearest name and all candidates. It does not change candidates.
func DidYouMean(name string, candidates []string) string {
	candidates = SortedUnique(slices.Clone(candidates))
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

// SortedUnique sorts in place and removes repetitions and empty strings.
func SortedUnique(list []string) []string {
	list = slices.DeleteFunc(list, func(s string) bool { return s == "" })
	slices.Sort(list)
	return slices.Compact(list)
}

// JoinOr joins words with commas and or.
func JoinOr(words []string) string {
	last := len(words) - 1
	if last < 1 {
		return strings.Join(words, "")
	}
	return strings.Join(words[:last], ", ") + " or " + words[last]
}

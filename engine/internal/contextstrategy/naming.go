package contextstrategy

import (
	"regexp"
	"slices"
	"strings"
)

// Naming is what of a feedback concerns a step: the lines that name it. A feedback that names no step concerns all of
// them.
func Naming(feedback, step string, steps []string) string {
	if !slices.ContainsFunc(steps, func(id string) bool { return names(feedback, id) }) {
		return feedback
	}
	var lines []string
	for line := range strings.Lines(feedback) {
		if names(line, step) {
			lines = append(lines, strings.TrimRight(line, "\n"))
		}
	}
	return strings.Join(lines, "\n")
}

// names reports whether a text has the id as a word: "s1" is not in "s10" nor in "s1-a", but in "s1." and "s1: …".
func names(text, id string) bool {
	return regexp.MustCompile(`(^|[^\w.-])` + regexp.QuoteMeta(id) + `($|[^\w-])`).MatchString(text)
}

package contextstrategy

import (
	"regexp"
	"slices"
	"strings"
)

// FeedbackForStep returns the lines of a feedback that name the step. A feedback that names no step concerns all of
// them.
func FeedbackForStep(feedback, step string, steps []string) string {
	if !slices.ContainsFunc(steps, func(id string) bool { return mentions(feedback, id) }) {
		return feedback
	}
	var lines []string
	for line := range strings.Lines(feedback) {
		if mentions(line, step) {
			lines = append(lines, strings.TrimRight(line, "\n"))
		}
	}
	return strings.Join(lines, "\n")
}

// mentions reports whether a text contains the id as a word: "s1" is not in "s10" nor in "s1-a", but in "s1." and
// "s1: …".
func mentions(text, id string) bool {
	return regexp.MustCompile(`(^|[^\w.-])` + regexp.QuoteMeta(id) + `($|[^\w-])`).MatchString(text)
}

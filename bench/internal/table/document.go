package table

import (
	"fmt"
	"strings"
)

// The marks between which a document holds the table. They are comments, so readers do not see them.
const (
	Begin = "<!-- figures: written by make bench, do not edit -->"
	End   = "<!-- end of figures -->"
)

// Replace returns the document with text between its marks in place of what stands there. The marks
// have to be in it once each, on lines of their own and in order.
func Replace(document, text string) (string, error) {
	before, rest, begun := strings.Cut(document, Begin+"\n")
	_, after, ended := strings.Cut(rest, End+"\n")
	if !begun || !ended || strings.Count(document, Begin) != 1 || strings.Count(document, End) != 1 {
		return "", fmt.Errorf("the document needs one line %q and below it one line %q", Begin, End)
	}
	return before + Begin + "\n" + strings.TrimRight(text, "\n") + "\n" + End + "\n" + after, nil
}

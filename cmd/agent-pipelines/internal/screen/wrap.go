package screen

import "strings"

// Wrap breaks a text at its spaces into a line of at most first columns and others of at most width; a
// longer word has a line of its own and is not cut, so that it can be copied. No width (0 or less) breaks
// nothing. The text is cleaned as [Clean] does; an empty one is one empty line.
func Wrap(text string, first, width int) []string {
	text = Clean(text)
	if width <= 0 {
		return []string{text}
	}
	var lines []string
	line, room := "", first
	for word := range strings.FieldsSeq(text) {
		switch {
		case line == "":
			line = word
		case Columns(line)+1+Columns(word) <= room:
			line += " " + word
		default:
			lines, line, room = append(lines, line), word, width
		}
	}
	return append(lines, line)
}

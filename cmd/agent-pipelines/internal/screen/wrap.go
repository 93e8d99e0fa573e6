package screen

import (
	"strings"

	"github.com/charmbracelet/x/ansi"
)

// Fold breaks a printable line into lines of at most width columns: at a space where there is one, else within a word.
// All lines but the first begin with hang spaces. A width of 0 or less breaks nothing.
func Fold(line string, width, hang int) []string {
	if width <= 0 || Columns(line) <= width {
		return []string{line}
	}
	indent := ""
	if hang > 0 && hang < width {
		indent = strings.Repeat(" ", hang)
	}
	var lines []string
	for begun := 0; Columns(line) > width; begun = len(indent) {
		end := breakAt(line, begun, width)
		lines = append(lines, strings.TrimRight(line[:end], " "))
		rest := strings.TrimLeft(line[end:], " ")
		if rest == "" {
			return lines
		}
		line = indent + rest
	}
	return append(lines, line)
}

// breakAt returns the position at which a too wide line is broken: the last space after its first begun bytes, else the
// width, but at least one character.
func breakAt(line string, begun, width int) int {
	used, space, end := 0, 0, len(line)
	for i := 0; i < len(line); {
		cluster, columns := ansi.FirstGraphemeCluster(line[i:], ansi.GraphemeWidth)
		if used += columns; used > width && i > begun {
			end = i
			break
		}
		if cluster == " " && i > begun && strings.TrimSpace(line[:i]) != "" {
			space = i
		}
		i += len(cluster)
	}
	if space > 0 && end < len(line) && line[end] != ' ' {
		return space
	}
	return end
}

// Wrap breaks a text at its spaces into a line of at most first columns and further lines of at most width. A longer
// word has its own line and is not cut, so that it can be copied. A width of 0 or less breaks nothing. The text is
// cleaned as by [Clean]; an empty text is one empty line.
func Wrap(text string, first, width int) []string {
	text = Clean(text)
	if width <= 0 {
		return []string{text}
	}
	var lines []string
	line, limit := "", first
	for word := range strings.FieldsSeq(text) {
		switch {
		case line == "":
			line = word
		case Columns(line)+1+Columns(word) <= limit:
			line += " " + word
		default:
			lines, line, limit = append(lines, line), word, width
		}
	}
	return append(lines, line)
}

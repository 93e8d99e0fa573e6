package screen

import "strings"

// Style is the style of a piece of a line on a terminal with colors.
type Style int

// These are the styles of spans.
const (
	Normal Style = iota
	Bold
	Faint
	Good   // done
	Bad    // failed
	Urgent // the user must act
)

// sgr holds the control sequences that begin the styles.
var sgr = map[Style]string{Bold: "\x1b[1m", Faint: "\x1b[2m", Good: "\x1b[32m", Bad: "\x1b[31m", Urgent: "\x1b[1;33m"}

// Span is a piece of a line in one style. Its text is printable, see [Clean].
type Span struct {
	Text  string
	Style Style
}

// Line is one line of a drawing.
type Line []Span

// Columns returns the width of the line in columns of a terminal.
func (l Line) Columns() int {
	total := 0
	for _, s := range l {
		total += Columns(s.Text)
	}
	return total
}

// Cut shortens the line to at most limit columns, as [Cut] does with a text.
func (l Line) Cut(limit int) Line {
	if l.Columns() <= limit {
		return l
	}
	var cut Line
	for _, s := range l {
		width := limit - cut.Columns()
		if Columns(s.Text) >= width { // the text is too long, or further spans follow
			return append(cut, Span{Cut(s.Text+" ", width), s.Style})
		}
		cut = append(cut, s)
	}
	return cut
}

// Text returns the line for a terminal, with control sequences if it has colors.
func (l Line) Text(color bool) string {
	var b strings.Builder
	for _, s := range l {
		start := sgr[s.Style]
		if !color || start == "" || s.Text == "" {
			b.WriteString(s.Text)
			continue
		}
		b.WriteString(start + s.Text + "\x1b[0m")
	}
	return b.String()
}

package manual

import (
	"fmt"
	"strings"
)

// roff writes a page in the man macros, which every man program reads.
type roff struct{ strings.Builder }

// title begins a page.
func (r *roff) title(name, version string) {
	fmt.Fprintf(r, ".TH %s 1 \"\" %s %s\n", quoted(strings.ToUpper(name)), quoted(version), quoted("Agent pipelines"))
}

// section begins a section with a heading, and part begins a subsection.
func (r *roff) section(heading string) { fmt.Fprintf(r, ".SH %s\n", quoted(heading)) }
func (r *roff) part(heading string)    { fmt.Fprintf(r, ".SS %s\n", quoted(heading)) }

// text writes paragraphs, which a blank line separates.
func (r *roff) text(text string) {
	for paragraph := range strings.SplitSeq(strings.TrimSpace(text), "\n\n") {
		if strings.TrimSpace(paragraph) == "" {
			continue
		}
		r.WriteString(".PP\n")
		r.lines(paragraph)
	}
}

// lines writes a text with its line breaks; roff fills the lines again.
func (r *roff) lines(text string) {
	for line := range strings.SplitSeq(text, "\n") {
		r.WriteString(escaped(strings.TrimSpace(line)) + "\n")
	}
}

// literal writes lines that stay as they are.
func (r *roff) literal(lines []string) {
	r.WriteString(".PP\n.RS 4\n.nf\n")
	for _, line := range lines {
		r.WriteString(escaped(line) + "\n")
	}
	r.WriteString(".fi\n.RE\n")
}

// item writes a term and its meaning.
func (r *roff) item(term, meaning string) {
	fmt.Fprintf(r, ".TP\n\\fB%s\\fR\n", escaped(term))
	r.lines(meaning)
}

// synopsis writes a line to type: the command in bold, and the rest.
func (r *roff) synopsis(command, rest string) {
	fmt.Fprintf(r, ".PP\n\\fB%s\\fR %s\n", escaped(command), escaped(rest))
}

// escapes maps the characters that roff would interpret, or draw differently, to their escapes.
var escapes = map[rune]string{
	'\\': `\e`, '-': `\-`, '\'': `\(aq`, '`': `\(ga`, '^': `\(ha`, '~': `\(ti`, '\t': " ", '\n': " ",
}

// escaped returns a text without requests and escapes of roff, in which every character stays the same. An unescaped
// apostrophe would become a quotation mark, and a hyphen a character that no shell accepts.
func escaped(text string) string {
	var b strings.Builder
	if strings.HasPrefix(text, ".") || strings.HasPrefix(text, "'") {
		b.WriteString(`\&`)
	}
	for _, r := range text {
		switch word, known := escapes[r]; {
		case known:
			b.WriteString(word)
		case r < ' ' || r == 0x7f:
		case r > 0x7f:
			fmt.Fprintf(&b, `\[u%04X]`, r)
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

// quoted returns a text as an argument of a request.
func quoted(text string) string { return `"` + strings.ReplaceAll(escaped(text), `"`, `\(dq`) + `"` }

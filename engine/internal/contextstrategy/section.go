package contextstrategy

import (
	"regexp"
	"strings"
	"unicode"
)

// Kind says what a section holds, and with that when it is cut.
type Kind string

// The kinds in the order in which they are cut: of talk the oldest first, of the others the last first.
const (
	Talk Kind = "talk" // what was said: inputs, words of people, outputs of agents
	File Kind = "file" // what stands in a file
	Step Kind = "step" // what became of steps
	Fact Kind = "fact" // everything else: requests, criteria, measurements, lists
)

// Section is one part of a brief.
type Section struct {
	Kind Kind
	Name string // what it is, in one line
	Text string
	// Size is how many bytes there are of it, where Text is only its beginning; 0: Text is all.
	Size int64
}

// size is how many bytes there are of the section.
func (s Section) size() int64 { return max(s.Size, int64(len(s.Text))) }

// whole reports whether the text is all there is.
func (s Section) whole() bool { return s.Size <= int64(len(s.Text)) }

// border begins the lines around a section. Nothing inside a section holds it.
const border = "[[agent-pipelines"

// imitation is whatever could be taken for a border.
var imitation = regexp.MustCompile(`(?i)\[[\s\[]*\[\s*(/?\s*agent-pipelines)`)

// Escape changes what in a text could be taken for the border of a section.
func Escape(text string) string { return imitation.ReplaceAllString(text, "[ $1") }

// Fence is a text as a section: with its name before it and after it, and nothing in it that looks like that.
func Fence(name, text string) string { return Section{Name: name, Text: Escape(text)}.render() }

// render is a section whose text is escaped already.
func (s Section) render() string {
	name, end := label(s.Name), ""
	if !strings.HasSuffix(s.Text, "\n") {
		end = "\n"
	}
	return border + ": " + name + "]]\n" + s.Text + end + border + ": end of " + name + "]]\n"
}

// maxLabel bounds a name, in characters.
const maxLabel = 200

// label is a name as it may stand in a border: one line, without brackets.
func label(name string) string {
	name = strings.Map(func(r rune) rune {
		switch {
		case r == '[' || r == ']':
			return '_'
		case unicode.IsControl(r) || unicode.Is(unicode.Zl, r) || unicode.Is(unicode.Zp, r):
			return ' '
		default:
			return r
		}
	}, name)
	if r := []rune(name); len(r) > maxLabel {
		return string(r[:maxLabel]) + "…"
	}
	return name
}

// Render is the text of a brief, "" for no sections.
func Render(sections []Section) string {
	var b strings.Builder
	for _, s := range sections {
		b.WriteString(Fence(s.Name, s.Text))
	}
	return b.String()
}

package contextstrategy

import (
	"regexp"
	"slices"
	"strings"
	"unicode"
)

// Kind is the kind of a section's content, which decides when it is cut.
type Kind string

// The kinds, in the order in which sections are cut. Sections of talk are cut from the oldest on, sections of other
// kinds from the last.
const (
	Talk Kind = "talk" // inputs, texts of users, outputs of agents
	File Kind = "file" // the content of a file
	Step Kind = "step" // the results of steps
	Fact Kind = "fact" // everything else: requests, criteria, measurements, lists
)

// Section is one named part of the context in a prompt.
type Section struct {
	Kind Kind
	Name string // one line
	Text string
	// Size is the total number of bytes if Text is only the beginning; 0: Text is complete.
	Size int64
}

// size returns the total number of bytes.
func (s Section) size() int64 { return max(s.Size, int64(len(s.Text))) }

// isComplete reports whether Text is complete.
func (s Section) isComplete() bool { return s.Size <= int64(len(s.Text)) }

// border begins the lines around a section. No section contains it.
const border = "[[agent-pipelines"

// borderLike matches text that could be read as a border.
var borderLike = regexp.MustCompile(`(?i)\[[\s\[]*\[\s*(/?\s*agent-pipelines)`)

// Escape changes text that could be read as the border of a section.
func Escape(text string) string { return borderLike.ReplaceAllString(text, "[ $1") }

// Fence returns a text as a section between borders with its name; the text is escaped.
func Fence(name, text string) string { return Section{Name: name, Text: Escape(text)}.render() }

// render returns the section as text between its borders. s.Text must already be escaped.
func (s Section) render() string {
	name, end := label(s.Name), ""
	if !strings.HasSuffix(s.Text, "\n") {
		end = "\n"
	}
	return border + ": " + name + "]]\n" + s.Text + end + border + ": end of " + name + "]]\n"
}

// maxLabel bounds a name, in characters.
const maxLabel = 200

// label returns a name for a border: one line, without brackets.
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

// Render returns the text of the sections, "" for none.
func Render(sections []Section) string {
	var b strings.Builder
	for _, s := range sections {
		b.WriteString(Fence(s.Name, s.Text))
	}
	return b.String()
}

// FeedbackForStep returns the lines of a feedback that name the step. A feedback that names no step concerns all
// steps.
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

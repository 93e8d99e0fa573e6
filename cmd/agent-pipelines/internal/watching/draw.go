package watching

import (
	"strings"
	"time"

	"github.com/dodo-digital/agent-pipelines/cmd/agent-pipelines/internal/screen"
	"github.com/dodo-digital/agent-pipelines/cmd/agent-pipelines/internal/tree"
	"github.com/dodo-digital/agent-pipelines/kernel/state"
)

// view holds everything that a screen is drawn from.
type view struct {
	width, height int
	now           time.Time
	tree          *tree.Model
	selected      int
	title         string   // of the lower part
	body          []string // printable lines
	up            int      // number of body lines below the visible lines
	hint          string   // the session's status, and the next action
	note          string   // result of the last key, instead of the hint
	prompt        string   // label of the input line, "" for none
	typed         string
	help          bool
}

// minBody is the minimum number of lines of the lower part, including its title.
const minBody = 4

// These texts list the keys, for wide and for narrow terminals.
const (
	keys = "↑↓ select  p pause  a approve  r reject  f follow  o open  ? help  q leave"
	few  = "↑↓ p a r f o  ? help  q leave"
)

// helpLines describe the keys.
var helpLines = []string{
	"↑ ↓ (k j)   select a node, a provider or a step",
	"PgUp PgDn   scroll back and forth in its lines; f follows again",
	"p           let the session pause after the iteration that runs now",
	"a           approve; once more to confirm",
	"r           reject, with feedback for the agent if that is allowed",
	"o           open its newest output, or the subject of its question, in $EDITOR",
	"?           this help, and back",
	"q (Ctrl-C)  leave; the session continues",
}

// drawView draws a view. It has exactly as many lines as the screen, and no line is wider than the
// screen.
func drawView(v view) []screen.Line {
	if v.width <= 0 || v.height <= 0 {
		return nil
	}
	bottom := v.bottom()
	limit := max(v.height-len(bottom), 0)
	least := minBody
	if v.help {
		least = len(helpLines) + 1
	}
	top := max(min(limit-least, max(limit-3*minBody, limit*2/3)), 1)
	lines := tree.Draw(v.tree, tree.DrawOptions{Width: v.width, Height: top, Now: v.now, Head: true, Select: true, Selected: v.selected})
	if len(lines) == 0 {
		lines = append(lines, screen.Line{{Text: "Nothing has happened in this session yet."}})
	}
	lines = lines[:min(len(lines), limit)]
	lines = append(lines, v.lower(limit-len(lines))...)
	for len(lines) < limit {
		lines = append(lines, nil)
	}
	lines = append(lines, bottom...)
	for i := range lines {
		lines[i] = lines[i].Cut(v.width)
	}
	return lines[max(len(lines)-v.height, 0):]
}

// lower draws the part below the tree, at most limit lines.
func (v view) lower(limit int) []screen.Line {
	if limit < 2 {
		return nil
	}
	title, body := v.title, folded(v.body, v.width)
	if v.help {
		title, body = "Keys", helpLines
	}
	end := max(len(body)-v.up, min(limit-1, len(body)))
	if v.help {
		end = min(limit-1, len(body))
	}
	if end < len(body) && !v.help {
		title += " (f follows)"
	}
	rule := "── " + title + " "
	rule += strings.Repeat("─", max(v.width-screen.Columns(rule), 0))
	lines := []screen.Line{{{Text: rule, Style: screen.Faint}}}
	for _, line := range body[max(end-limit+1, 0):end] {
		lines = append(lines, screen.Line{{Text: line}})
	}
	return lines
}

// clockColumns is the width of the time at the beginning of a line.
const clockColumns = len("15:04:05 ")

// folded wraps lines to at most width columns. It indents continuation lines like their line, or to the end of the time in it.
func folded(body []string, width int) []string {
	var lines []string
	for _, line := range body {
		hang := len(line) - len(strings.TrimLeft(line, " "))
		if hang == 0 && len(line) > clockColumns && line[2] == ':' && line[5] == ':' && line[clockColumns-1] == ' ' {
			hang = clockColumns
		}
		lines = append(lines, screen.Fold(line, width, min(hang, width/3))...)
	}
	return lines
}

// bottom draws the input line or the note, and the keys.
func (v view) bottom() []screen.Line {
	if v.prompt != "" {
		typed := v.typed
		for screen.Columns(v.prompt)+screen.Columns(typed)+2 > v.width && typed != "" { // the end is visible
			typed = typed[len(string([]rune(typed)[:1])):]
		}
		return []screen.Line{
			{{Text: v.prompt + " ", Style: screen.Urgent}, {Text: typed + "▏"}},
			{{Text: "Enter sends · Esc cancels", Style: screen.Faint}},
		}
	}
	text, style := v.hint, screen.Bold
	if v.note != "" {
		text, style = v.note, screen.Urgent
	}
	var lines []screen.Line
	for _, line := range screen.Fold(text, v.width, 0) {
		lines = append(lines, screen.Line{{Text: line, Style: style}})
	}
	lines = lines[:min(len(lines), max(v.height/3, 1))]
	help := keys
	if screen.Columns(help) > v.width {
		help = few
	}
	return append(lines, screen.Line{{Text: help, Style: screen.Faint}})
}

// questionLines returns the lines of a question with the beginning of its subject.
func questionLines(q state.Question) []string {
	var lines []string
	for line := range strings.Lines(q.Text) {
		lines = append(lines, screen.Clean(line))
	}
	if q.Remedy != "" {
		lines = append(lines, "What to do: "+screen.Clean(q.Remedy))
	}
	if q.Call != nil {
		lines = append(lines, screen.Clean("Tool: "+q.Call.Tool+" "+strings.Join(q.Call.Paths, ", ")+" "+q.Call.Command))
	}
	for _, line := range screen.Lines(q.Preview) {
		lines = append(lines, "  "+line)
	}
	return lines
}

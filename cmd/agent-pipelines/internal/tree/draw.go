package tree

import (
	"cmp"
	"strings"
	"time"

	"github.com/dodo-digital/agent-pipelines/cmd/agent-pipelines/internal/screen"
)

// Look says how a tree is drawn.
type Look struct {
	// Width is how many columns a line has at most, Height how many lines there are; 0 or less: as many as it takes.
	Width, Height int
	// Now is the time that running rows are drawn for.
	Now time.Time
	// Head draws a line about the session also above a single node.
	Head bool
	// Select marks the row at Selected, which stays in sight.
	Select   bool
	Selected int
}

// maxName is how many columns names have at most, with what they are indented by; on a wide terminal a quarter of it.
const maxName = 28

// minFolded is how many lines a drawing has at least, however low the terminal is.
const minFolded = 2

// Draw draws what the model knows. Rows that do not fit are folded into lines that say how many there are: those that
// somebody is waited for, that run or failed, and those near them stay. Lines with commands are broken rather than cut.
func Draw(m *Model, look Look) []screen.Line {
	rows := m.Rows(look.Now)
	if len(rows) == 0 {
		return nil
	}
	if look.Width <= 0 {
		look.Width = 80
	}
	alone := len(rows) == 1 && !look.Head
	var lines []screen.Line
	if !alone {
		lines = append(lines, m.head(look))
	} else {
		rows[0].Doing = screen.Joined(screen.Joined(screen.Usage(m.total()), m.ceiling()), rows[0].Doing)
		rows[0].Facts = withoutUsage(rows[0].Facts)
	}
	items := make([]item, len(rows))
	d := drawer{Look: look, names: nameColumns(rows, look.Width)}
	for i, r := range rows {
		items[i] = item{mark: r.Mark, depth: r.Depth, lines: d.row(r, look.Select && i == look.Selected)}
	}
	room := 0
	if look.Height > 0 {
		room = max(look.Height-len(lines), minFolded)
	}
	for _, line := range fold(items, room, d.focus(rows), d.lead()) {
		lines = append(lines, line.Cut(look.Width))
	}
	return lines
}

// withoutUsage are the facts but for what was used, which stands elsewhere.
func withoutUsage(all []Fact) []Fact {
	var kept []Fact
	for _, f := range all {
		if f.Rank != rankUsage {
			kept = append(kept, f)
		}
	}
	return kept
}

// nameColumns is how wide the column of names is.
func nameColumns(rows []Row, width int) int {
	widest := 0
	for _, r := range rows {
		widest = max(widest, 2*r.Depth+screen.Columns(r.Name))
	}
	return min(widest, max(maxName, width/4), max(width/3, 8))
}

type drawer struct {
	Look
	names int
}

// focus is the row that stays in sight whatever is folded.
func (d drawer) focus(rows []Row) int {
	if d.Select && d.Selected >= 0 && d.Selected < len(rows) {
		return d.Selected
	}
	return Focus(rows)
}

// Focus is the row that is most worth a look: one that somebody is waited for, else one that runs, has failed or rests,
// the innermost; else the last node of the pipeline itself that is done, or the first. It is -1 where there are none.
func Focus(rows []Row) int {
	if len(rows) == 0 {
		return -1
	}
	best := 0
	for i, r := range rows {
		worth := cmp.Or(cmp.Compare(urgency[r.Mark], urgency[rows[best].Mark]), cmp.Compare(r.Depth, rows[best].Depth))
		if urgency[r.Mark] > 0 && worth > 0 || urgency[rows[best].Mark] == 0 && r.Mark == Done && r.Depth == 0 {
			best = i
		}
	}
	return best
}

// lead is what rows begin with, but for the selected one.
func (d drawer) lead() string {
	if d.Select {
		return "  "
	}
	return ""
}

// row draws a row: a line about it, and others below that say what is being done, or asked.
func (d drawer) row(r Row, selected bool) []screen.Line {
	indent := strings.Repeat("  ", r.Depth)
	name := screen.Cut(r.Name, max(d.names-len(indent), 1))
	glyph, style := d.glyph(r.Mark)
	lead := d.lead()
	nameStyle := screen.Normal
	switch {
	case selected:
		lead, nameStyle = "▸ ", screen.Bold
	case r.Mark == Running || r.Mark == Waiting:
		nameStyle = screen.Bold
	case r.Mark == Pending || r.Mark == Skipped:
		nameStyle = screen.Faint
	}
	line := screen.Line{{Text: lead + indent, Style: screen.Bold}, {Text: glyph + " ", Style: style}, {Text: name, Style: nameStyle}}
	if len(r.Facts) > 0 {
		line = append(line, screen.Span{Text: strings.Repeat(" ", d.names-len(indent)-screen.Columns(name)+2)})
		line = append(line, d.facts(r, d.Width-line.Columns())...)
	}
	inner := screen.Columns(lead) + 2*r.Depth + 4
	return append([]screen.Line{line.Cut(d.Width)}, d.below(r, inner)...)
}

// facts are as many facts as fit.
func (d drawer) facts(r Row, room int) screen.Line {
	kept := r.Facts
	for len(kept) > 1 && screen.Columns(factText(kept)) > room {
		kept = withoutLeast(kept)
	}
	var line screen.Line
	for i, f := range kept {
		if i > 0 {
			line = append(line, screen.Span{Text: " · ", Style: screen.Faint})
		}
		style := screen.Normal
		switch {
		case f.Rank == rankState:
			style = screen.Urgent
		case r.Mark != Running && r.Mark != Waiting:
			style = screen.Faint
		}
		line = append(line, screen.Span{Text: f.Text, Style: style})
	}
	return line
}

func factText(all []Fact) string {
	texts := make([]string, len(all))
	for i, f := range all {
		texts[i] = f.Text
	}
	return strings.Join(texts, " · ")
}

// withoutLeast leaves out the fact of the highest rank, the last of those.
func withoutLeast(all []Fact) []Fact {
	least := 0
	for i, f := range all {
		if f.Rank >= all[least].Rank {
			least = i
		}
	}
	return append(append([]Fact{}, all[:least]...), all[least+1:]...)
}

// below are the lines below that of a row.
func (d drawer) below(r Row, indent int) []screen.Line {
	var lines []screen.Line
	space := strings.Repeat(" ", min(indent, d.Width/4))
	room := max(d.Width-len(space), 1)
	for _, a := range r.Asks {
		lines = append(lines, screen.Line{{Text: space}, {Text: screen.Cut(a.Text, room)}})
		for _, command := range a.Commands {
			lines = append(lines, commandLines(command, space, room)...)
		}
	}
	if r.Doing != "" && len(r.Asks) == 0 {
		style := screen.Faint
		if r.Mark == Failed {
			style = screen.Bad
		}
		lines = append(lines, screen.Line{{Text: space}, {Text: screen.Cut(r.Doing, room), Style: style}})
	}
	return lines
}

// commandLines are a command, which may not be cut, in lines.
func commandLines(command, space string, room int) []screen.Line {
	var lines []screen.Line
	sign := "→ "
	for _, part := range screen.Wrap(command, room-2, room-4) {
		for part != "" {
			piece := part
			for screen.Columns(piece) > max(room-len([]rune(sign)), 1) {
				piece = string([]rune(piece)[:len([]rune(piece))-1])
			}
			part = part[len(piece):]
			lines = append(lines, screen.Line{{Text: space + sign, Style: screen.Urgent}, {Text: piece, Style: screen.Bold}})
			sign = "    "
		}
	}
	return lines
}

// spinner turns while something runs, once in two seconds.
var spinner = []rune("⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏")

// turn is how long one of its pictures stands.
const turn = 200 * time.Millisecond

// glyph is the sign of a condition.
func (d drawer) glyph(m Mark) (string, screen.Style) {
	switch m {
	case Running:
		return string(spinner[d.Now.UnixMilli()/turn.Milliseconds()%int64(len(spinner))]), screen.Bold
	case Waiting:
		return "?", screen.Urgent
	case Resting:
		return "‖", screen.Urgent
	case Done:
		return "✓", screen.Good
	case Failed:
		return "✗", screen.Bad
	case Skipped:
		return "–", screen.Faint
	default:
		return "○", screen.Faint
	}
}

// Lines draws the tree without a selection, as the part of a live view below its lines.
func (m *Model) Lines(now time.Time, width, height int) []screen.Line {
	return Draw(m, Look{Width: width, Height: height, Now: now})
}

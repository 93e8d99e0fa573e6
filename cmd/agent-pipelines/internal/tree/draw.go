package tree

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/charmbracelet/x/ansi"

	"github.com/dodo-digital/agent-pipelines/cmd/agent-pipelines/internal/screen"
	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/state"
)

// DrawOptions configures a drawing.
type DrawOptions struct {
	// Width bounds the columns of a line; 0 or less means 80. Height bounds the lines; 0 or less means no bound.
	Width, Height int
	// Now is the current time, for running rows.
	Now time.Time
	// Head draws the line about the session even if there is only one row.
	Head bool
	// Select marks the row at Selected, which stays visible.
	Select   bool
	Selected int
}

// maxName bounds the columns of names with their indent, unless a quarter of the width is more or a third is less.
const maxName = 28

// minFolded is the minimum number of lines of a drawing.
const minFolded = 2

// Draw draws a model. Rows that do not fit are folded into lines with their number; rows that wait for the user, run or
// have failed stay visible, with their neighbours. Lines with commands are wrapped and not cut.
func Draw(m *Model, options DrawOptions) []screen.Line {
	rows := m.Rows(options.Now)
	if len(rows) == 0 {
		return nil
	}
	if options.Width <= 0 {
		options.Width = 80
	}
	alone := len(rows) == 1 && !options.Head
	var lines []screen.Line
	if !alone {
		lines = append(lines, head(m, options))
	} else {
		rows[0].Doing = screen.Joined(screen.Joined(screen.Usage(m.total()), m.ceiling()), rows[0].Doing)
		rows[0].Facts = slices.DeleteFunc(rows[0].Facts, func(f Fact) bool { return f.Rank == rankUsage }) // Doing has the usage
	}
	items := make([]item, len(rows))
	d := drawer{DrawOptions: options, names: nameColumns(rows, options.Width)}
	for i, r := range rows {
		items[i] = item{mark: r.Mark, depth: r.Depth, lines: d.row(r, options.Select && i == options.Selected)}
	}
	limit := 0
	if options.Height > 0 {
		limit = max(options.Height-len(lines), minFolded)
	}
	for _, line := range fold(items, limit, d.focus(rows), d.margin()) {
		lines = append(lines, line.Cut(options.Width))
	}
	return lines
}

// head returns the line about the session.
func head(m *Model, options DrawOptions) screen.Line {
	status, style := m.Status()
	runs := ""
	if m.state.Runs > 1 {
		runs = fmt.Sprintf("run %d/%d", m.state.Run, m.state.Runs)
	}
	name := screen.Clean(m.session)
	if p := screen.Clean(m.plan.Pipeline.Name); p != "" && p != name {
		name += " (" + p + ")"
	}
	name = screen.Cut(name, max(options.Width/2, 8))
	kept := fitting(facts(
		Fact{status, rankState}, Fact{m.durationText(options.Now), rankTime}, Fact{m.cycle.text, rankIteration}, Fact{runs, rankIteration},
		Fact{screen.Usage(m.total()), rankUsage}, Fact{m.ceiling(), rankUsage},
	), options.Width-screen.Columns(name)-2)
	line := screen.Line{{Text: name, Style: screen.Bold}, {Text: "  "}}
	return append(line, factLine(kept, func(f Fact) screen.Style {
		if f.Rank == rankState {
			return style
		}
		return screen.Normal
	})...).Cut(options.Width)
}

// durationText returns the duration of the run, from its start or its last resume.
func (m *Model) durationText(now time.Time) string {
	from := m.state.StartedAt
	if m.state.ResumedAt != nil {
		from = *m.state.ResumedAt
	}
	switch {
	case from.IsZero():
		return ""
	case m.state.EndedAt != nil && m.state.Status != state.Running:
		now = *m.state.EndedAt
	case m.crashed:
		now = m.seen
	}
	return screen.Clock(now.Sub(from))
}

// total returns the consumption of the session so far.
func (m *Model) total() event.Usage {
	u := m.state.Usage
	for _, w := range m.work {
		u = u.Plus(w.usage)
	}
	return u
}

// ceiling returns the consumption of the session's budget, "" if it has none.
func (m *Model) ceiling() string {
	if p := m.plan.Pipeline.Policy; p != nil && p.Cost != nil {
		return screen.Spent(*p.Cost, m.state.Charges[""])
	}
	return ""
}

// nameColumns returns the width of the column of names.
func nameColumns(rows []Row, width int) int {
	widest := 0
	for _, r := range rows {
		widest = max(widest, 2*r.Depth+screen.Columns(r.Name))
	}
	return min(widest, max(maxName, width/4), max(width/3, 8))
}

type drawer struct {
	DrawOptions
	names int
}

// focus returns the index of the row that is never folded.
func (d drawer) focus(rows []Row) int {
	if d.Select && d.Selected >= 0 && d.Selected < len(rows) {
		return d.Selected
	}
	return Focus(rows)
}

// Focus returns the index of the most important row: one that waits for the user, else runs, else has failed, else is
// unfinished; of several, the innermost. Otherwise it is the last completed node of the pipeline itself, else the first
// row. Focus returns -1 if there are no rows.
func Focus(rows []Row) int {
	if len(rows) == 0 {
		return -1
	}
	best := 0
	for i, r := range rows {
		urgency, highest := marks[r.Mark].urgency, marks[rows[best].Mark].urgency
		worth := cmp.Or(cmp.Compare(urgency, highest), cmp.Compare(r.Depth, rows[best].Depth))
		if urgency > 0 && worth > 0 || highest == 0 && r.Mark == Done && r.Depth == 0 {
			best = i
		}
	}
	return best
}

// margin returns the beginning of rows that are not selected.
func (d drawer) margin() string {
	if d.Select {
		return "  "
	}
	return ""
}

// row draws a row: a line about it, and lines with its activity or questions.
func (d drawer) row(r Row, selected bool) []screen.Line {
	indent := strings.Repeat("  ", r.Depth)
	name := screen.Cut(r.Name, max(d.names-len(indent), 1))
	glyph := marks[r.Mark].glyph
	if glyph == "" {
		glyph = string(spinner[d.Now.UnixMilli()/turn.Milliseconds()%int64(len(spinner))])
	}
	margin := d.margin()
	nameStyle := screen.Normal
	switch {
	case selected:
		margin, nameStyle = "▸ ", screen.Bold
	case r.Mark == Running || r.Mark == Waiting:
		nameStyle = screen.Bold
	case r.Mark == Pending || r.Mark == Skipped:
		nameStyle = screen.Faint
	}
	line := screen.Line{{Text: margin + indent, Style: screen.Bold}, {Text: glyph + " ", Style: marks[r.Mark].style}, {Text: name, Style: nameStyle}}
	if len(r.Facts) > 0 {
		line = append(line, screen.Span{Text: strings.Repeat(" ", d.names-len(indent)-screen.Columns(name)+2)})
		line = append(line, factLine(fitting(r.Facts, d.Width-line.Columns()), func(f Fact) screen.Style {
			switch {
			case f.Rank == rankState:
				return screen.Urgent
			case r.Mark != Running && r.Mark != Waiting:
				return screen.Faint
			default:
				return screen.Normal
			}
		})...)
	}
	inner := screen.Columns(margin) + 2*r.Depth + 4
	return append([]screen.Line{line.Cut(d.Width)}, d.below(r, inner)...)
}

// below returns the lines below the line of a row.
func (d drawer) below(r Row, indent int) []screen.Line {
	var lines []screen.Line
	space := strings.Repeat(" ", min(indent, d.Width/4))
	limit := max(d.Width-len(space), 1)
	for _, a := range r.Asks {
		lines = append(lines, screen.Line{{Text: space}, {Text: screen.Cut(a.Text, limit)}})
		for _, command := range a.Commands {
			lines = append(lines, commandLines(command, space, limit)...)
		}
	}
	if r.Doing != "" && len(r.Asks) == 0 {
		style := screen.Faint
		if r.Mark == Failed {
			style = screen.Bad
		}
		lines = append(lines, screen.Line{{Text: space}, {Text: screen.Cut(r.Doing, limit), Style: style}})
	}
	return lines
}

// commandLines wraps a command, which must not be cut.
func commandLines(command, space string, limit int) []screen.Line {
	var lines []screen.Line
	sign := "→ "
	for _, part := range screen.Wrap(command, limit-2, limit-4) {
		for piece := range strings.SplitSeq(ansi.Hardwrap(part, max(limit-len("    "), 1), true), "\n") {
			lines = append(lines, screen.Line{{Text: space + sign, Style: screen.Urgent}, {Text: piece, Style: screen.Bold}})
			sign = "    "
		}
	}
	return lines
}

// spinner turns once in two seconds while something runs.
var spinner = []rune("⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏")

// turn is the time for which one picture of the spinner is shown.
const turn = 200 * time.Millisecond

// Lines draws the tree without a selection, as the lower part of a live view.
func (m *Model) Lines(now time.Time, width, height int) []screen.Line {
	return Draw(m, DrawOptions{Width: width, Height: height, Now: now})
}

// Markdown returns the tree as a Markdown table: a line for each row, and the waiting questions below. It is empty before
// the first event.
func Markdown(m *Model, now time.Time) string {
	rows := m.Rows(now)
	if len(rows) == 0 {
		return ""
	}
	word, _ := m.Status()
	var b strings.Builder
	fmt.Fprintf(&b, "### %s: %s\n\n| | | |\n|---|---|---|\n", escaped(m.session), escaped(word))
	for _, r := range rows {
		facts := r.Facts
		if r.Mark == Waiting {
			facts = facts[1:] // "waiting for you", which the status column shows
		}
		text := factText(facts)
		if r.Doing != "" && r.Mark != Done {
			text = strings.TrimPrefix(text+" · "+r.Doing, " · ")
		}
		fmt.Fprintf(&b, "| %s%s | %s | %s |\n", strings.Repeat("&emsp;", r.Depth), escaped(r.Name), marks[r.Mark].text, escaped(text))
	}
	for _, r := range rows {
		for _, a := range r.Asks {
			fmt.Fprintf(&b, "\n%s\n", escaped(a.Text))
			for _, command := range a.Commands {
				fmt.Fprintf(&b, "- `%s`\n", command)
			}
		}
	}
	return b.String()
}

// escaped escapes a printable text for Markdown.
func escaped(text string) string {
	return strings.NewReplacer(
		"&", "&amp;", "<", "&lt;", ">", "&gt;", "|", "\\|", "`", "\\`", "*", "\\*", "_", "\\_", "[", "\\[", "]", "\\]", "\\", "\\\\", "#", "\\#", "~", "\\~", "@", "@\u200b",
	).Replace(text)
}

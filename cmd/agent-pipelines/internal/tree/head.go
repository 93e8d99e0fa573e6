package tree

import (
	"fmt"
	"time"

	"github.com/dodo-digital/agent-pipelines/cmd/agent-pipelines/internal/screen"
	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/state"
)

// head returns the line about the session.
func (m *Model) head(look Look) screen.Line {
	word, style := m.Status()
	since := m.since(look.Now)
	kept := []Fact{{word, rankState}, {since, rankTime}, {m.cycle.text, rankIteration}, {m.runs(), rankIteration}, {screen.Usage(m.total()), rankUsage}, {m.ceiling(), rankUsage}}
	kept = facts(kept...)
	name := screen.Clean(m.session)
	if p := screen.Clean(m.plan.Pipeline.Name); p != "" && p != name {
		name += " (" + p + ")"
	}
	name = screen.Cut(name, max(look.Width/2, 8))
	for len(kept) > 1 && screen.Columns(name)+2+screen.Columns(factText(kept)) > look.Width {
		kept = withoutLeast(kept)
	}
	line := screen.Line{{Text: name, Style: screen.Bold}, {Text: "  "}}
	for i, f := range kept {
		if i > 0 {
			line = append(line, screen.Span{Text: " · ", Style: screen.Faint})
		}
		span := screen.Span{Text: f.Text}
		if f.Rank == rankState {
			span.Style = style
		}
		line = append(line, span)
	}
	return line.Cut(look.Width)
}

// Status returns the session's status in one or two words.
func (m *Model) Status() (string, screen.Style) {
	switch s := m.state.Status; {
	case m.Waits():
		return "waiting for you", screen.Urgent
	case m.crashed && s == state.Running:
		return "crashed", screen.Bad
	case s == state.Paused && m.state.PauseKind != "":
		return fmt.Sprintf("paused (%s)", m.state.PauseKind), screen.Urgent
	case s == state.Failed || s == state.Aborted:
		return string(s), screen.Bad
	case s == state.Completed:
		return string(s), screen.Good
	default:
		return string(s), screen.Normal
	}
}

// since returns the duration of the run, or since its last resume.
func (m *Model) since(now time.Time) string {
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

// runs returns the number of the current run of the pipeline, "" if there is one run.
func (m *Model) runs() string {
	if m.state.Runs < 2 {
		return ""
	}
	return fmt.Sprintf("run %d/%d", m.state.Run, m.state.Runs)
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

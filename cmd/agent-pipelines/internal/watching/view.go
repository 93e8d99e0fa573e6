package watching

import (
	"os/exec"
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"

	"github.com/dodo-digital/agent-pipelines/cmd/agent-pipelines/internal/screen"
	"github.com/dodo-digital/agent-pipelines/cmd/agent-pipelines/internal/tree"
	"github.com/dodo-digital/agent-pipelines/engine"
	"github.com/dodo-digital/agent-pipelines/kernel/state"
)

// View draws the current view.
func (p program) View() tea.View {
	var texts []string
	for _, line := range drawView(p.view()) {
		texts = append(texts, line.Text(p.Color))
	}
	v := tea.NewView(strings.Join(texts, "\n"))
	v.AltScreen = true
	return v
}

// view collects everything that is drawn.
func (p program) view() view {
	p.feed.mu.Lock()
	defer p.feed.mu.Unlock()
	rows := p.feed.model.Rows(p.now)
	v := view{
		width: p.width, height: p.height, now: p.now, tree: &p.feed.model, selected: p.index(rows), up: p.up, note: p.note, help: p.help,
		hint: p.feed.hint(), title: screen.Clean(p.Session),
	}
	if p.prompt != nil {
		v.typed, v.prompt = string(p.prompt.typed), "Feedback for the agent:"
		if !p.prompt.feedback {
			v.prompt = "This may end the session. Type reject:"
		}
	}
	if v.selected < 0 || v.selected >= len(rows) {
		v.body = p.feed.lines[position{}]
		return v
	}
	r := rows[v.selected]
	v.title = r.Name
	v.body = append(v.body, p.feed.lines[position{r.Path, r.Branch, r.Step}]...)
	questions := p.feed.model.State().Questions
	path := p.feed.outputFile(r)
	again := slices.ContainsFunc(r.Asks, func(a tree.Ask) bool { return slices.Equal(screen.Lines(questions[a.ID].Preview), p.shown.lines) })
	if path != "" && path == p.shown.path && !again {
		v.body = append(v.body, "")
		for _, line := range p.shown.lines {
			v.body = append(v.body, "  "+line)
		}
	}
	for _, a := range r.Asks {
		v.body = append(append(v.body, ""), questionLines(questions[a.ID])...)
	}
	return v
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

// hint returns the session's status, and the next action.
func (f *feed) hint() string {
	st := f.model.State()
	switch s := f.status; {
	case st == nil:
		return "This session never began. q leaves."
	case f.model.Waits():
		return "It waits for you: a approves, r rejects." + resumeHint(s)
	case s == nil:
		return ""
	case s.Crashed:
		return "Its process is gone; the work that was finished is kept." + resumeHint(s)
	case st.Status == state.Paused:
		return "It is paused." + resumeHint(s)
	case st.Status == state.Failed:
		return "It has failed." + resumeHint(s)
	default:
		return "It has ended: " + string(st.Status) + ". q leaves."
	}
}

// resumeHint returns the command that resumes the session, "" if a kernel holds it or it cannot be resumed.
func resumeHint(s *engine.Status) string {
	switch {
	case s == nil:
		return ""
	case s.RepairCommand != "":
		return " To repair it: " + s.RepairCommand
	case s.ResumeCommand != "":
		return " Continue: " + s.ResumeCommand
	default:
		return ""
	}
}

// read reads the latest output of the selected row, unless it was read before.
func (p program) read() program {
	p.feed.mu.Lock()
	rows := p.feed.model.Rows(p.now)
	path := ""
	if i := p.index(rows); i >= 0 && i < len(rows) {
		path = p.feed.outputFile(rows[i])
	}
	p.feed.mu.Unlock()
	if path != p.shown.path {
		p.shown = shown{path: path}
		if path != "" {
			p.shown.lines = tail(path)
		}
	}
	return p
}

// open shows the files of the open question, or else the latest output, in the user's editor or pager.
func (p program) open() (program, tea.Cmd) {
	viewer := p.Viewer
	if viewer == "" {
		p.note = "Neither EDITOR nor PAGER is set."
		return p, nil
	}
	files := p.files()
	if len(files) == 0 {
		p.note = "There is no output of it yet."
		return p, nil
	}
	// The files are arguments, not a part of the command.
	cmd := exec.CommandContext(p.ctx, "sh", append([]string{"-c", "exec " + viewer + ` "$@"`, "agent-pipelines"}, files...)...)
	p.away.Store(true)
	return p, tea.ExecProcess(cmd, func(err error) tea.Msg {
		p.away.Store(false)
		if err != nil {
			return actionResult(viewer + ": " + err.Error())
		}
		return actionResult("")
	})
}

// files returns the absolute paths of the files that the user may want to read now.
func (p program) files() []string {
	p.feed.mu.Lock()
	rows := p.feed.model.Rows(p.now)
	var row tree.Row
	if i := p.index(rows); i >= 0 && i < len(rows) {
		row = rows[i]
	}
	output := p.feed.outputFile(row)
	p.feed.mu.Unlock()
	if len(row.Asks) > 0 {
		if s, err := p.Engine.Status(p.Session); err == nil {
			for _, q := range s.Questions {
				if q.ID == row.Asks[0].ID && len(q.Files) > 0 {
					return q.Files
				}
			}
		}
	}
	if output == "" {
		return nil
	}
	return []string{output}
}

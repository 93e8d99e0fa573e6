package watching

import (
	"os/exec"
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"

	"github.com/dodo-digital/agent-pipelines/cmd/agent-pipelines/internal/screen"
	"github.com/dodo-digital/agent-pipelines/cmd/agent-pipelines/internal/tree"
	"github.com/dodo-digital/agent-pipelines/engine"
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
	if v.selected < 0 {
		v.body = p.feed.lines[tree.Position{}]
		return v
	}
	r := rows[v.selected]
	v.title = r.Name
	v.body = slices.Clone(p.feed.lines[r.Position])
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

// selected returns the selected row and the absolute path of its latest output, "" for none.
func (p program) selected() (row tree.Row, output string) {
	p.feed.mu.Lock()
	defer p.feed.mu.Unlock()
	rows := p.feed.model.Rows(p.now)
	if i := p.index(rows); i >= 0 {
		row = rows[i]
	}
	return row, p.feed.outputFile(row)
}

// read reads the latest output of the selected row, unless it was read before.
func (p program) read() program {
	if _, path := p.selected(); path != p.shown.path {
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
		p.note = "The selected row has no output yet."
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
	row, output := p.selected()
	if len(row.Asks) > 0 {
		if s, err := p.Engine.Status(p.Session); err == nil {
			i := slices.IndexFunc(s.Questions, func(q engine.Question) bool { return q.ID == row.Asks[0].ID && len(q.Files) > 0 })
			if i >= 0 {
				return s.Questions[i].Files
			}
		}
	}
	if output == "" {
		return nil
	}
	return []string{output}
}

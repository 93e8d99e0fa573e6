package screen

import (
	"fmt"
	"io"
	"strings"

	"github.com/dodo-digital/agent-pipelines/engine"
	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/kernel/state"
)

// GitHub writes the lines of [Plain] for the log of GitHub Actions: those of each node in a group, and a failure once more
// as an annotation. Lines that GitHub would execute as a command are escaped, because they may be an agent's. It is safe
// for concurrent use.
//
// The commands are those of https://docs.github.com/actions/reference/workflow-commands-for-github-actions.
type GitHub struct {
	*Plain
	open bool // a group is open; the mutex of Plain guards it
}

// NewGitHub returns a view that writes to out. With verbose it writes more.
func NewGitHub(out io.Writer, verbose bool) *GitHub {
	return &GitHub{Plain: NewPlain(out, verbose)}
}

// Show writes the lines of an update.
func (g *GitHub) Show(u engine.Update) {
	g.mu.Lock()
	defer g.mu.Unlock()
	lines := g.renderer.Lines(u)
	var text strings.Builder
	if title := groupTitle(u); title != "" {
		text.WriteString(g.end() + "::group::" + commandText(title) + "\n")
		g.open = true
	}
	if u.Event != nil && (u.Event.Type == event.SessionPaused || u.Event.Type == event.SessionComplete || u.Event.Type == event.SessionAborted) {
		text.WriteString(g.end())
	}
	for _, line := range lines {
		text.WriteString(escapeCommand(line) + "\n")
	}
	if u.Event != nil && u.Event.Type == event.NodeComplete {
		text.WriteString(g.end() + annotation(u))
	}
	if text.Len() > 0 {
		_ = g.write(text.String())
	}
}

// end returns the command that ends the open group.
func (g *GitHub) end() string {
	if !g.open {
		return ""
	}
	g.open = false
	return "::endgroup::\n"
}

// groupTitle returns the title of the group that begins with an update, "" for none. Groups cannot be nested, so a node
// that embeds a pipeline has no group.
func groupTitle(u engine.Update) string {
	if u.Event == nil || u.Plan == nil || u.Event.Type != event.NodeStart || u.Event.Cursor == nil {
		return ""
	}
	n := u.Plan.Find(u.Event.Cursor.NodePath)
	if n == nil || n.Kind == plan.KindPipeline {
		return ""
	}
	title := Clean(n.ID)
	if n.Kind == plan.KindParallel {
		return title + " (" + Clean(strings.Join(branches(n), ", ")) + ")"
	}
	title += " (" + Clean(NodeProvider(n)) + ")"
	if v := u.Event.Cursor.Visit; v > 1 {
		title += fmt.Sprintf(", visit %d", v)
	}
	return title
}

// annotation describes a failed run, "" for any other.
func annotation(u engine.Update) string {
	if u.State == nil || u.State.Status != state.Failed || u.State.Failure == nil {
		return ""
	}
	title := commandText(fmt.Sprintf("session '%s' failed", Clean(u.Session)))
	title = strings.NewReplacer(":", "%3A", ",", "%2C").Replace(title)
	return fmt.Sprintf("::error title=%s::%s\n", title, commandText(Clean(u.State.Failure.Message)))
}

// commandText escapes a text as an argument of a command.
func commandText(text string) string {
	return strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A").Replace(text)
}

// escapeCommand escapes a line that GitHub would execute as a command.
func escapeCommand(line string) string {
	line = strings.ReplaceAll(line, "##[", "## [")
	if rest := strings.TrimLeft(line, " \t\r\v\f\u00a0\u0085"); strings.HasPrefix(rest, "::") {
		return line[:len(line)-len(rest)] + ": " + rest[1:]
	}
	return line
}

// WriteLine writes a line that belongs to no event. GitHub does not read it as a workflow command.
func (g *GitHub) WriteLine(line string) { g.Plain.WriteLine(escapeCommand(line)) }

// Write writes lines of logs.
func (g *GitHub) Write(b []byte) (int, error) {
	lines := strings.SplitAfter(string(b), "\n")
	for i := range lines {
		lines[i] = escapeCommand(lines[i])
	}
	_, err := g.Plain.Write([]byte(strings.Join(lines, "")))
	return len(b), err
}

// Close ends the open group, and writes the lines that were held back.
func (g *GitHub) Close() {
	g.Plain.Close()
	g.mu.Lock()
	defer g.mu.Unlock()
	if text := g.end(); text != "" {
		_ = g.write(text)
	}
}

package tree

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/dodo-digital/agent-pipelines/cmd/agent-pipelines/internal/screen"
	"github.com/dodo-digital/agent-pipelines/engine"
	"github.com/dodo-digital/agent-pipelines/engine/timeline"
	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/kernel/state"
	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
)

// Position is the place of an agent: a node, one of its steps, or a provider of a parallel block. The zero value is the
// session.
type Position struct {
	Path   string // of the node
	Branch string // the provider of a parallel block, "" elsewhere
	Step   string // the id of a step, "" elsewhere
}

// Model is the current view of a session. The zero value is empty. It is not safe for concurrent use.
type Model struct {
	session     string
	plan        *plan.Plan
	state       *state.State
	seen        time.Time          // time of the newest event
	timeline    *timeline.Timeline // nil before the first event
	consumption map[string]event.Usage
	work        map[Position]work
	cycle       cycle
	crashed     bool
}

// work describes the parts of an agent's work that the state lacks.
type work struct {
	progress sdk.Progress
	usage    *event.Usage // reported so far by the current attempt
	activity string       // last tool call, or the summary
}

// cycle is the latest cycle, until a visit to its source ends with another transition.
type cycle struct {
	from string // path of the source
	text string // "cycle 1/3", "" for none
}

// Observe adds an update.
func (m *Model) Observe(u engine.Update) {
	if r := u.Report; r != nil && m.timeline != nil {
		at := Position{r.At.Outer(), r.At.Branch, r.At.Step}
		m.work[at] = work{r.Progress, (*event.Usage)(r.Usage), m.work[at].activity}
	}
	if u.Event == nil || u.State == nil || u.Plan == nil {
		return
	}
	if m.timeline == nil || u.Event.Type == event.SessionStart {
		m.timeline = timeline.New(u.Plan)
		m.consumption, m.work, m.cycle = map[string]event.Usage{}, map[Position]work{}, cycle{}
	}
	m.session, m.plan, m.state, m.seen, m.crashed = u.Session, u.Plan, u.State, u.Event.Time, false
	if e, ok := m.timeline.Apply(*u.Event); ok && e.Cursor != nil {
		m.addEntry(e)
	}
}

// addEntry updates the consumption of a node and of the nodes that embed it, and the activity of an agent.
func (m *Model) addEntry(e timeline.Entry) {
	for path := e.Cursor.NodePath; path != ""; path = path[:max(strings.LastIndexByte(path, '.'), 0)] {
		m.consumption[path] = m.consumption[path].Plus(e.Usage)
	}
	at := Position{e.Cursor.NodePath, e.Cursor.Provider, e.Cursor.Step}
	switch {
	case e.Completed:
		m.work[at] = work{activity: screen.Clean(e.Iteration.Result.Summary)}
	case e.Type == event.IterationStart, e.Type == event.AttemptComplete, e.Retry != nil, e.Failure != nil:
		m.work[at] = work{}
	case e.Type == event.ToolCall:
		if d, err := event.Decode[event.ToolCallData](e.Event); err == nil {
			w := m.work[at]
			w.activity = screen.Joined(screen.Clean(d.Tool), screen.Clean(cmp.Or(d.Command, strings.Join(d.Paths, ", "))))
			m.work[at] = w
		}
	case e.NodeEnd != nil:
		m.endVisit(at.Path, *e.NodeEnd)
	}
}

// endVisit ends the work of a node.
func (m *Model) endVisit(path string, d event.NodeCompleteData) {
	for at := range m.work {
		if at.Path == path {
			delete(m.work, at)
		}
	}
	switch {
	case d.Edge != "":
		m.cycle = cycle{path, fmt.Sprintf("cycle %d/%d", d.Cycle, d.Limit)}
	case m.cycle.from == path:
		m.cycle = cycle{}
	}
}

// Crash marks a running session that no kernel holds. The next event removes the mark.
func (m *Model) Crash() { m.crashed = true }

// State returns the latest state, nil before the first event.
func (m *Model) State() *state.State { return m.state }

// LatestEventTime returns the time of the latest event, zero before the first.
func (m *Model) LatestEventTime() time.Time { return m.seen }

// Waits reports whether the session waits for the user.
func (m *Model) Waits() bool {
	return m.state != nil && !m.state.Status.Final() && len(m.state.UnansweredQuestions()) > 0
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

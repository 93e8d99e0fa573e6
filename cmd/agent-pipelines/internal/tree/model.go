package tree

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/dodo-digital/agent-pipelines/cmd/agent-pipelines/internal/screen"
	"github.com/dodo-digital/agent-pipelines/engine"
	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/kernel/state"
	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
)

// Model is the current view of a session. The zero value is empty. It is not safe for concurrent use.
type Model struct {
	session     string
	plan        *plan.Plan
	state       *state.State
	seen        time.Time              // of the newest event
	consumption map[string]event.Usage // by the path of the node
	work        map[position]work
	cycle       cycle
	crashed     bool
}

// position is the place of an agent: a node, one of its steps, or a provider of a parallel block.
type position struct{ path, branch, step string }

// work describes an agent beside the state.
type work struct {
	progress sdk.Progress
	usage    *event.Usage // reported so far by the current attempt
	activity string       // last tool call, or the summary
}

// cycle is the last return over a counted edge, until its source ends otherwise.
type cycle struct {
	from string // path of the source
	text string // "cycle 1/3", "" for none
}

// Observe adds an update.
func (m *Model) Observe(u engine.Update) {
	if u.Report != nil {
		m.addReport(u.Report)
		return
	}
	if u.Event == nil || u.State == nil || u.Plan == nil {
		return
	}
	e := *u.Event
	if m.work == nil || e.Type == event.SessionStart {
		m.consumption, m.work, m.cycle = map[string]event.Usage{}, map[position]work{}, cycle{}
	}
	m.session, m.plan, m.state, m.seen, m.crashed = u.Session, u.Plan, u.State, e.Time, false
	if e.Cursor == nil {
		return
	}
	m.addUsage(e)
	m.addWork(e)
}

// Crash marks a running session that no kernel holds. The next event unmarks it.
func (m *Model) Crash() { m.crashed = true }

// State returns the latest state, nil before the first event.
func (m *Model) State() *state.State { return m.state }

// Seen returns the time of the latest event, zero before the first.
func (m *Model) Seen() time.Time { return m.seen }

// Waits reports whether the session waits for the user.
func (m *Model) Waits() bool {
	return m.state != nil && !m.state.Status.Final() && len(m.state.UnansweredQuestions()) > 0
}

func (m *Model) addReport(r *engine.Report) {
	if m.work == nil {
		return
	}
	at := position{r.At.Outer(), r.At.Branch, r.At.Step}
	w := m.work[at]
	w.progress, w.usage = r.Progress, (*event.Usage)(r.Usage)
	m.work[at] = w
}

// addUsage adds the consumption of an attempt, or of a judge, to its node and to the nodes that embed it.
func (m *Model) addUsage(e event.Event) {
	switch e.Type {
	case event.IterationComplete, event.Error, event.AttemptComplete, event.StrategyAnswer:
	default:
		return
	}
	if e.Key.Kind() == event.KeySettle && e.Type != event.AttemptComplete {
		return // the attempt's own event has the same usage
	}
	d, err := event.Decode[struct {
		Usage *event.Usage `json:"usage"`
	}](e)
	if err != nil || d.Usage == nil {
		return
	}
	for path := e.Cursor.NodePath; path != ""; path = path[:max(strings.LastIndexByte(path, '.'), 0)] {
		m.consumption[path] = m.consumption[path].Plus(d.Usage)
	}
}

// addWork updates the activity of an agent.
func (m *Model) addWork(e event.Event) {
	at := position{e.Cursor.NodePath, e.Cursor.Provider, e.Cursor.Step}
	switch e.Type {
	case event.IterationStart, event.Retry, event.AttemptComplete, event.Error:
		m.work[at] = work{}
	case event.IterationComplete:
		d, _ := event.Decode[event.IterationCompleteData](e) // undecodable data is not shown
		m.work[at] = work{activity: screen.Clean(d.Summary)}
	case event.ToolCall:
		d, err := event.Decode[event.ToolCallData](e)
		if w := m.work[at]; err == nil {
			w.activity = screen.Joined(screen.Clean(d.Tool), screen.Clean(cmp.Or(d.Command, strings.Join(d.Paths, ", "))))
			m.work[at] = w
		}
	case event.NodeComplete:
		m.endVisit(e)
	}
}

// endVisit ends the work of a node.
func (m *Model) endVisit(e event.Event) {
	for at := range m.work {
		if at.path == e.Cursor.NodePath {
			delete(m.work, at)
		}
	}
	d, err := event.Decode[event.NodeCompleteData](e)
	switch {
	case err != nil:
	case d.Edge != "":
		m.cycle = cycle{e.Cursor.NodePath, fmt.Sprintf("cycle %d/%d", d.Cycle, d.Limit)}
	case m.cycle.from == e.Cursor.NodePath:
		m.cycle = cycle{}
	}
}

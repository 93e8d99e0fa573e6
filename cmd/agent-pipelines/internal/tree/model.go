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

// Model is what is known of a session. The zero value knows nothing. It is used from one goroutine at a time.
type Model struct {
	session string
	plan    *plan.Plan
	state   *state.State
	seen    time.Time              // of the newest event
	usageOf map[string]event.Usage // by the path of the node
	work    map[position]work
	cycle   cycle
	crashed bool
}

// position is where an agent works: a node, one of its steps, or a provider of a parallel block.
type position struct{ path, branch, step string }

// work is what is known of an agent beside the state.
type work struct {
	progress sdk.Progress
	usage    *event.Usage // of the attempt under way, as far as it was reported
	activity string       // the tool that it used last, or what it said of its work
}

// cycle is the newest return over a counted edge, until its source ends another way.
type cycle struct {
	from string // path of the source
	text string // "cycle 1/3", "" for none
}

// Observe takes an update in.
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
		m.usageOf, m.work, m.cycle = map[string]event.Usage{}, map[position]work{}, cycle{}
	}
	m.session, m.plan, m.state, m.seen, m.crashed = u.Session, u.Plan, u.State, e.Time, false
	if e.Cursor == nil {
		return
	}
	m.addUsage(e)
	m.addWork(e)
}

// Crash says that nobody holds the session though its state says that it runs. The next event takes that back.
func (m *Model) Crash() { m.crashed = true }

// State is the newest state, nil before the first event.
func (m *Model) State() *state.State { return m.state }

// Seen is the time of the newest event, zero before the first.
func (m *Model) Seen() time.Time { return m.seen }

// Waits reports whether a person is waited for.
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

// addUsage counts what an attempt, or a judge, used for its node and all that embed it.
func (m *Model) addUsage(e event.Event) {
	switch e.Type {
	case event.IterationComplete, event.Error, event.AttemptComplete, event.StrategyAnswer:
	default:
		return
	}
	if e.Key.Kind() == event.KeySettle && e.Type != event.AttemptComplete {
		return // what is settled tells the use of its attempt once more
	}
	d, err := event.Decode[struct {
		Usage *event.Usage `json:"usage"`
	}](e)
	if err != nil || d.Usage == nil {
		return
	}
	for path := e.Cursor.NodePath; path != ""; path = path[:max(strings.LastIndexByte(path, '.'), 0)] {
		m.usageOf[path] = m.usageOf[path].Plus(d.Usage)
	}
}

// addWork takes note of what agents do.
func (m *Model) addWork(e event.Event) {
	at := position{e.Cursor.NodePath, e.Cursor.Provider, e.Cursor.Step}
	switch e.Type {
	case event.IterationStart, event.Retry, event.AttemptComplete, event.Error:
		m.work[at] = work{}
	case event.IterationComplete:
		d, _ := event.Decode[event.IterationCompleteData](e) // what cannot be read is not shown
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

// endVisit takes note of the end of a node.
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

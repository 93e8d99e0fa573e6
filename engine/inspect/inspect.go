package inspect

import (
	"time"

	"github.com/dodo-digital/agent-pipelines/engine/timeline"
	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/kernel/state"
)

// Inspection holds the results of all queries on a session, from one pass over its journal.
type Inspection struct {
	Status *Status
	// History and Metrics are nil and Artifacts is empty if the session never began. Each equals the result
	// of the engine's method of that name.
	History   *History
	Metrics   *Metrics
	Artifacts []ArtifactInfo
	// Plan is the session's plan; without nodes if it cannot be read. The caller must not change it.
	Plan *plan.Plan
}

// Inspect returns the results of [Inspector.Status], [Inspector.History], [Inspector.Metrics] and [Inspector.Artifacts]
// from one pass over the journal.
//
// A non-nil newHandler is called with the empty timeline before the journal is read; its result is called with each
// entry, in order. For a session of the Bash engine the plan is known only afterwards: newHandler is then called again
// with a timeline of that plan, and all entries are repeated.
//
// Inspect takes no lock and starts nothing. The error wraps [store.ErrNoSession] if there is no such session; a
// session that never began is not an error.
func (i Inspector) Inspect(session string, newHandler func(*timeline.Timeline) func(timeline.Entry)) (*Inspection, error) {
	var fold statusFold
	var artifacts artifactFold
	var totals timelineFold
	begin := func(p *plan.Plan) func(event.Event) {
		apply := totals.start(p, artifacts.apply)
		if newHandler != nil {
			totals.observers = append(totals.observers, newHandler(totals.timeline))
		}
		return apply
	}
	dir, view, err := i.openView(session, func(p *plan.Plan) func(event.Event) {
		apply, addStatus := begin(p), fold.begin(p)
		return func(ev event.Event) {
			addStatus(ev)
			apply(ev)
		}
	})
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	if totals.timeline.Plan() != view.Plan {
		if err := view.reread(dir, begin(view.Plan)); err != nil {
			return nil, err
		}
	}
	s := &Inspection{Plan: view.Plan}
	if s.Status, err = i.newStatus(session, dir, view, &fold); err != nil {
		return nil, err
	}
	if view.began() {
		s.History, s.Metrics, s.Artifacts = newHistory(session, view, totals.timeline), NewMetrics(view.State, totals.timeline), artifacts.list(dir, view)
	}
	return s, nil
}

// History lists the node visits of a session's latest run.
type History struct {
	Session string       `json:"session"`
	RunID   string       `json:"run_id"`
	Status  state.Status `json:"status"`
	// Visits holds the visits of all nodes, oldest first.
	Visits []timeline.Visit `json:"visits"`
	// Damage describes the unreadable parts of the session's files, "" for none. The history may be
	// incomplete.
	Damage string `json:"damage,omitempty"`
}

// Metrics holds the metrics of a session's latest run, as metrics.json does, but always up to date.
type Metrics struct {
	Session   string       `json:"session"`
	RunID     string       `json:"run_id"`
	Pipeline  string       `json:"pipeline,omitempty"`
	Status    state.Status `json:"status"`
	StartedAt time.Time    `json:"started_at"`
	EndedAt   *time.Time   `json:"ended_at,omitempty"` // time of completion, failure, abort or pause
	timeline.Totals
}

// Stage returns the metrics of the node at a path, nil if it was not entered or m is nil.
func (m *Metrics) Stage(path string) *timeline.Stage {
	if m == nil {
		return nil
	}
	for i := range m.Stages {
		if m.Stages[i].Path == path {
			return &m.Stages[i]
		}
	}
	return nil
}

// History returns every node visit of a session's latest run, from its journal. It takes no lock. The error
// wraps [store.ErrNoSession] if there is no such session, and [ErrNothingToResume] if it never began.
func (i Inspector) History(session string) (*History, error) {
	s, err := i.inspectBegun(session)
	return s.History, err
}

func newHistory(session string, view View, t *timeline.Timeline) *History {
	return &History{Session: session, RunID: view.State.RunID, Status: view.State.Status, Visits: t.Visits(), Damage: view.damage}
}

// Metrics returns the metrics of a session's latest run, in total and by stage. It fails as [Inspector.History]
// does.
func (i Inspector) Metrics(session string) (*Metrics, error) {
	s, err := i.inspectBegun(session)
	return s.Metrics, err
}

// Artifacts lists the artifacts of a session's latest run: its inputs first, then each node's in plan order,
// oldest first. It takes no lock and changes nothing. For a running session it lists the artifacts made so
// far. It fails as [Inspector.History] does.
func (i Inspector) Artifacts(session string) ([]ArtifactInfo, error) {
	s, err := i.inspectBegun(session)
	return s.Artifacts, err
}

// inspectBegun inspects a session that has events. With an error the results are empty.
func (i Inspector) inspectBegun(session string) (Inspection, error) {
	s, err := i.Inspect(session, nil)
	switch {
	case err != nil:
		return Inspection{}, err
	case s.History == nil:
		return Inspection{}, NeverBeganError(session)
	}
	return *s, nil
}

// NewMetrics returns the metrics of a session in the state st, with the timeline of its latest run.
func NewMetrics(st state.State, t *timeline.Timeline) *Metrics {
	return &Metrics{
		Session: st.Session, RunID: st.RunID, Pipeline: st.Pipeline, Status: st.Status, StartedAt: st.StartedAt, EndedAt: st.EndedAt,
		Totals: t.Totals(),
	}
}

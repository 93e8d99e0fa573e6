package engine

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

// Inspect returns the results of [Engine.Status], [Engine.History], [Engine.Metrics] and [Engine.Artifacts]
// from one pass over the journal.
//
// A non-nil newHandler is called with the empty timeline before the journal is read; its result is called with each
// entry, in order. For a session of the Bash engine the plan is known only afterwards: newHandler is then called again
// with a timeline of that plan, and all entries are repeated.
//
// Inspect takes no lock and starts nothing. The error wraps [ErrNoSession] if there is no such session; a
// session that never began is not an error.
func (e *Engine) Inspect(session string, newHandler func(*timeline.Timeline) func(timeline.Entry)) (*Inspection, error) {
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
	dir, view, err := e.openView(session, func(p *plan.Plan) func(event.Event) {
		apply := begin(p)
		return func(ev event.Event) {
			fold.apply(ev)
			apply(ev)
		}
	})
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	if totals.timeline.Plan() != view.plan {
		if err := view.reread(dir, begin(view.plan)); err != nil {
			return nil, err
		}
	}
	s := &Inspection{Plan: view.plan}
	if s.Status, err = e.newStatus(session, dir, view, &fold); err != nil {
		return nil, err
	}
	if view.began() {
		s.History, s.Metrics, s.Artifacts = newHistory(session, view, totals.timeline), newMetrics(view.state, totals.timeline), artifacts.list(dir, view)
	}
	return s, nil
}

// Visit is one visit of a node: its times, outcome, next node and metrics.
type Visit = timeline.Visit

// VisitRestarted is the status of a visit that ended because the node restarted.
const VisitRestarted = timeline.Restarted

// Work holds counts, durations and consumption.
type Work = timeline.Work

// CheckResult is the last result of a check.
type CheckResult = timeline.Check

// StepCounts counts the steps of a node by status.
type StepCounts = timeline.Steps

// StageMetrics holds the totals of all visits of a node.
type StageMetrics = timeline.Stage

// CycleMetrics describes a counted edge that was taken.
type CycleMetrics = timeline.Cycle

// History lists the node visits of a session's latest run.
type History struct {
	Session string       `json:"session"`
	RunID   string       `json:"run_id"`
	Status  state.Status `json:"status"`
	// Visits holds the visits of all nodes, oldest first.
	Visits []Visit `json:"visits"`
	// Damage describes the unreadable parts of the session's files, "" for none. The history may be
	// incomplete.
	Damage string `json:"damage,omitempty"`
}

// Metrics holds the metrics of a session's latest run: metrics.json, brought up to date.
type Metrics struct {
	Session   string       `json:"session"`
	RunID     string       `json:"run_id"`
	Pipeline  string       `json:"pipeline,omitempty"`
	Status    state.Status `json:"status"`
	StartedAt time.Time    `json:"started_at"`
	EndedAt   *time.Time   `json:"ended_at,omitempty"` // completed, failed, aborted or paused
	timeline.Totals
}

// History returns every node visit of a session's latest run, from its journal. It takes no lock. The error
// wraps [ErrNoSession] if there is no such session, and [ErrNothingToResume] if it never began.
func (e *Engine) History(session string) (*History, error) {
	k, a, err := e.replayTimeline(session)
	if err != nil {
		return nil, err
	}
	return newHistory(session, k, a), nil
}

func newHistory(session string, view sessionView, t *timeline.Timeline) *History {
	return &History{Session: session, RunID: view.state.RunID, Status: view.state.Status, Visits: t.Visits(), Damage: view.damage}
}

// Metrics returns the metrics of a session's latest run, in total and by stage. It fails as [Engine.History]
// does.
func (e *Engine) Metrics(session string) (*Metrics, error) {
	k, a, err := e.replayTimeline(session)
	if err != nil {
		return nil, err
	}
	return newMetrics(k.state, a), nil
}

func (e *Engine) replayTimeline(session string) (sessionView, *timeline.Timeline, error) {
	var fold timelineFold
	dir, view, err := e.openView(session, func(p *plan.Plan) func(event.Event) { return fold.start(p) })
	if err != nil {
		return sessionView{}, nil, err
	}
	defer dir.Close()
	if !view.began() {
		return sessionView{}, nil, neverBeganError(session)
	}
	if fold.timeline.Plan() != view.plan {
		err = view.reread(dir, fold.start(view.plan))
	}
	return view, fold.timeline, err
}

// timelineFold builds the timeline of a session while its journal is read, and passes the entries to observers.
type timelineFold struct {
	timeline  *timeline.Timeline
	observers []func(timeline.Entry)
}

// start begins a timeline and returns the callback for the events.
func (f *timelineFold) start(p *plan.Plan, observers ...func(timeline.Entry)) func(event.Event) {
	f.timeline, f.observers = timeline.New(p), observers
	return func(e event.Event) {
		entry, ok := f.timeline.Apply(e)
		if !ok {
			return
		}
		for _, observe := range f.observers {
			observe(entry)
		}
	}
}

func newMetrics(st state.State, t *timeline.Timeline) *Metrics {
	return &Metrics{
		Session: st.Session, RunID: st.RunID, Pipeline: st.Pipeline, Status: st.Status, StartedAt: st.StartedAt, EndedAt: st.EndedAt,
		Totals: t.Totals(),
	}
}

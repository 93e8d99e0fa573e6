package engine

import (
	"time"

	"github.com/dodo-digital/agent-pipelines/engine/internal/metrics"
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
// A non-nil newHandler is called with the plan before the journal is read; its result is called with each event, in
// order. For a session of the Bash engine the plan is known only afterwards: newHandler is then called again with
// that plan, and all events are repeated.
//
// Inspect takes no lock and starts nothing. The error wraps [ErrNoSession] if there is no such session; a
// session that never began is not an error.
func (e *Engine) Inspect(session string, newHandler func(p *plan.Plan) func(event.Event)) (*Inspection, error) {
	if newHandler == nil {
		newHandler = func(*plan.Plan) func(event.Event) { return func(event.Event) {} }
	}
	var fold statusFold
	var artifacts artifactFold
	var totals metricsFold
	begin := func(p *plan.Plan) func(event.Event) {
		count, handle := totals.start(p), newHandler(p)
		return func(ev event.Event) {
			count(ev)
			handle(ev)
		}
	}
	dir, view, err := e.openView(session, func(p *plan.Plan) func(event.Event) {
		handle := begin(p)
		return func(ev event.Event) {
			fold.apply(ev)
			artifacts.apply(ev)
			handle(ev)
		}
	})
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	if totals.plan != view.plan {
		if err := view.reread(dir, begin(view.plan)); err != nil {
			return nil, err
		}
	}
	s := &Inspection{Plan: view.plan}
	if s.Status, err = e.newStatus(session, dir, view, &fold); err != nil {
		return nil, err
	}
	if view.began() {
		s.History, s.Metrics, s.Artifacts = newHistory(session, view, totals.metrics), newMetrics(view.state, totals.metrics), artifacts.list(dir, view)
	}
	return s, nil
}

// Visit is one visit of a node: its times, outcome, next node and metrics.
type Visit = metrics.Visit

// VisitRestarted is the status of a visit that ended because the node restarted.
const VisitRestarted = metrics.Restarted

// Work holds counts, durations and consumption.
type Work = metrics.Work

// CheckResult is the last result of a check.
type CheckResult = metrics.Check

// StepCounts counts the steps of a node by status.
type StepCounts = metrics.Steps

// StageMetrics holds the totals of all visits of a node.
type StageMetrics = metrics.Stage

// CycleMetrics describes a counted edge that was taken.
type CycleMetrics = metrics.Cycle

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
	metrics.Totals
}

// History returns every node visit of a session's latest run, from its journal. It takes no lock. The error
// wraps [ErrNoSession] if there is no such session, and [ErrNothingToResume] if it never began.
func (e *Engine) History(session string) (*History, error) {
	k, a, err := e.replayMetrics(session)
	if err != nil {
		return nil, err
	}
	return newHistory(session, k, a), nil
}

func newHistory(session string, view sessionView, collector *metrics.Collector) *History {
	return &History{Session: session, RunID: view.state.RunID, Status: view.state.Status, Visits: collector.Visits(), Damage: view.damage}
}

// Metrics returns the metrics of a session's latest run, in total and by stage. It fails as [Engine.History]
// does.
func (e *Engine) Metrics(session string) (*Metrics, error) {
	k, a, err := e.replayMetrics(session)
	if err != nil {
		return nil, err
	}
	return newMetrics(k.state, a), nil
}

func (e *Engine) replayMetrics(session string) (sessionView, *metrics.Collector, error) {
	var fold metricsFold
	dir, view, err := e.openView(session, fold.start)
	if err != nil {
		return sessionView{}, nil, err
	}
	defer dir.Close()
	if !view.began() {
		return sessionView{}, nil, neverBeganError(session)
	}
	if fold.plan != view.plan {
		err = view.reread(dir, fold.start(view.plan))
	}
	return view, fold.metrics, err
}

// metricsFold collects the metrics of a session while its journal is read.
type metricsFold struct {
	plan    *plan.Plan
	metrics *metrics.Collector
}

// start is an [eventHandler].
func (f *metricsFold) start(p *plan.Plan) func(event.Event) {
	f.plan, f.metrics = p, metrics.New(p)
	return f.metrics.Apply
}

func newMetrics(st state.State, collector *metrics.Collector) *Metrics {
	return &Metrics{
		Session: st.Session, RunID: st.RunID, Pipeline: st.Pipeline, Status: st.Status, StartedAt: st.StartedAt, EndedAt: st.EndedAt,
		Totals: collector.Totals(),
	}
}

package engine

import (
	"time"

	"github.com/dodo-digital/agent-pipelines/engine/internal/metrics"
	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/kernel/state"
)

// Survey is all that is known of a session, from one reading of its journal.
type Inspection struct {
	Status *Status
	// History and Metrics are nil and Artifacts empty where the session never began. Each is what the engine's method of that
	// name gives.
	History   *History
	Metrics   *Metrics
	Artifacts []ArtifactInfo
	// Plan is the plan that the session follows, one without nodes where none can be read. It is not to be changed.
	Plan *plan.Plan
}

// Survey tells of a session what [Engine.Status], [Engine.History], [Engine.Metrics] and [Engine.Artifacts] tell, and reads
// its journal once for all of them. tell, unless it is nil, is called with the plan before the journal is read, and what it
// returns with each event, in order. Of a session of the Bash engine the plan is known only afterwards: then tell is called
// once more with that, and all events come again. Survey takes no lock and starts nothing. The error wraps [ErrNoSession]
// if there is no such session; that it never began is no error.
func (e *Engine) Inspect(session string, tell func(p *plan.Plan) func(event.Event)) (*Inspection, error) {
	if tell == nil {
		tell = func(*plan.Plan) func(event.Event) { return func(event.Event) {} }
	}
	var t told
	var named collection
	var counted accounting
	begin := func(p *plan.Plan) func(event.Event) {
		count, hear := counted.begin(p), tell(p)
		return func(ev event.Event) {
			count(ev)
			hear(ev)
		}
	}
	dir, k, err := e.look(session, func(p *plan.Plan) func(event.Event) {
		hear := begin(p)
		return func(ev event.Event) {
			t.take(ev)
			named.take(ev)
			hear(ev)
		}
	})
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	if counted.plan != k.plan {
		if err := k.retell(dir, begin(k.plan)); err != nil {
			return nil, err
		}
	}
	s := &Inspection{Plan: k.plan}
	if s.Status, err = e.statusOf(session, dir, k, &t); err != nil {
		return nil, err
	}
	if k.began() {
		s.History, s.Metrics, s.Artifacts = historyOf(session, k, counted.account), metricsOf(k.state, counted.account), named.artifacts(dir, k)
	}
	return s, nil
}

// Visit is one visit of a node: when, how it ended, where the run went from it, and what it took.
type Visit = metrics.Visit

// VisitRestarted is the status of a visit that ended because the node was entered anew.
const VisitRestarted = metrics.Restarted

// Work is what was done and consumed.
type Work = metrics.Work

// CheckFacts is the last result of a check.
type CheckFacts = metrics.Check

// StepCounts says how far the steps of a node have got.
type StepCounts = metrics.Steps

// StageMetrics is what all visits of a node took.
type StageMetrics = metrics.Stage

// CycleMetrics is a counted edge that was taken.
type CycleMetrics = metrics.Cycle

// History is the way that the newest run of a session took.
type History struct {
	Session string       `json:"session"`
	RunID   string       `json:"run_id"`
	Status  state.Status `json:"status"`
	// Visits are those of all nodes, in the order in which they began.
	Visits []Visit `json:"visits"`
	// Damage says what of the session's files could not be read, "" for nothing: the history may lack it.
	Damage string `json:"damage,omitempty"`
}

// Metrics are what the newest run of a session took: metrics.json, with what has happened since.
type Metrics struct {
	Session   string       `json:"session"`
	RunID     string       `json:"run_id"`
	Pipeline  string       `json:"pipeline,omitempty"`
	Status    state.Status `json:"status"`
	StartedAt time.Time    `json:"started_at"`
	EndedAt   *time.Time   `json:"ended_at,omitempty"` // completed, failed, aborted or paused
	metrics.Totals
}

// History tells every visit of every node of a session, from its journal. It takes no lock. The error wraps
// [ErrNoSession] if there is none, and [ErrNothingToResume] if the session never began.
func (e *Engine) History(session string) (*History, error) {
	k, a, err := e.accountOf(session)
	if err != nil {
		return nil, err
	}
	return historyOf(session, k, a), nil
}

func historyOf(session string, k known, a *metrics.Collector) *History {
	return &History{Session: session, RunID: k.state.RunID, Status: k.state.Status, Visits: a.Visits(), Damage: k.damage}
}

// Metrics says what a session took in all and stage by stage, from its journal. It fails as [Engine.History] does.
func (e *Engine) Metrics(session string) (*Metrics, error) {
	k, a, err := e.accountOf(session)
	if err != nil {
		return nil, err
	}
	return metricsOf(k.state, a), nil
}

func (e *Engine) accountOf(session string) (known, *metrics.Collector, error) {
	var told accounting
	dir, k, err := e.look(session, told.begin)
	if err != nil {
		return known{}, nil, err
	}
	defer dir.Close()
	if !k.began() {
		return known{}, nil, neverBegan(session)
	}
	if told.plan != k.plan {
		err = k.retell(dir, told.begin(k.plan))
	}
	return k, told.account, err
}

// accounting makes the account of a session while its journal is read.
type accounting struct {
	plan    *plan.Plan
	account *metrics.Collector
}

// begin is a [hearer].
func (t *accounting) begin(p *plan.Plan) func(event.Event) {
	t.plan, t.account = p, metrics.New(p)
	return t.account.Apply
}

func metricsOf(st state.State, a *metrics.Collector) *Metrics {
	return &Metrics{
		Session: st.Session, RunID: st.RunID, Pipeline: st.Pipeline, Status: st.Status, StartedAt: st.StartedAt, EndedAt: st.EndedAt,
		Totals: a.Totals(),
	}
}

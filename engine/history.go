package engine

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/dodo-digital/agent-pipelines/engine/internal/metrics"
	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/kernel/state"
	"github.com/dodo-digital/agent-pipelines/kernel/store"
)

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

// rest settles the inbox and the views of a session that ends or pauses.
func (s *session) rest() error {
	s.clearInbox()
	if err := s.view.Flush(s.state); err != nil {
		return err
	}
	text, err := json.MarshalIndent(metricsOf(s.state, s.account), "", "  ")
	if err != nil {
		return fmt.Errorf("render %s: %w", store.MetricsFile, err)
	}
	return s.dir.Replace(store.MetricsFile, append(text, '\n'))
}

package engine

import (
	"math"
	"slices"

	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/journal"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
)

// processFold collects the plugin processes that a session's last kernel started, in order.
type processFold []event.PluginData

func (all *processFold) apply(e event.Event) {
	switch e.Type {
	case event.KernelStart:
		*all = nil
	case event.PluginStarted:
		if d, err := event.Decode[event.PluginData](e); err == nil {
			*all = append(*all, d)
		}
	}
}

// statusFold collects from the events the parts of Status that are not in the state.
type statusFold struct {
	plugins   processFold
	secrets   secretFold
	survivors survivorFold
	abandoned abandonedAttempts
	health    Health
}

func (t *statusFold) apply(e event.Event) {
	t.plugins.apply(e)
	t.secrets.apply(e)
	t.survivors.apply(e)
	t.abandoned.apply(e)
	t.health.apply(e)
}

// survivorFold collects the processes left behind in the last run of a session.
type survivorFold []Survivor

func (all *survivorFold) apply(e event.Event) {
	switch e.Type {
	case event.SessionStart:
		*all = nil
	case event.SurvivorEnded:
		if d, err := event.Decode[Survivor](e); err == nil {
			*all = append(*all, d)
		}
	}
}

// maxAbandoned bounds the late deliveries and superseded attempts in a [Status].
const maxAbandoned = 50

// LateDelivery is a delivery of an abandoned attempt, and its treatment.
type LateDelivery struct {
	Stage     string `json:"stage,omitempty"` // id of the node
	Iteration int    `json:"iteration,omitempty"`
	event.LateDeliveryData
}

// SupersededAttempt is an attempt that was repeated, with the workspace changes in between.
type SupersededAttempt struct {
	Stage     string `json:"stage,omitempty"` // id of the node
	Iteration int    `json:"iteration,omitempty"`
	event.AttemptSupersededData
}

// abandonedAttempts collects the last late deliveries and superseded attempts of the last run.
type abandonedAttempts struct{ late, superseded []event.Event }

func (g *abandonedAttempts) apply(e event.Event) {
	switch e.Type {
	case event.SessionStart:
		*g = abandonedAttempts{}
	case event.LateDelivery:
		g.late = appendLast(g.late, e)
	case event.AttemptSuperseded:
		g.superseded = appendLast(g.superseded, e)
	}
}

// appendLast appends an event and keeps the last [maxAbandoned].
func appendLast(events []event.Event, e event.Event) []event.Event {
	if len(events) == maxAbandoned {
		events = slices.Delete(events, 0, 1)
	}
	return append(events, e)
}

// describe decodes the events for a session with the plan.
func (g *abandonedAttempts) describe(p *plan.Plan) (late []LateDelivery, superseded []SupersededAttempt) {
	for _, e := range g.late {
		if d, err := event.Decode[event.LateDeliveryData](e); err == nil {
			stage, iteration := eventNode(p, e)
			late = append(late, LateDelivery{stage, iteration, d})
		}
	}
	for _, e := range g.superseded {
		if d, err := event.Decode[event.AttemptSupersededData](e); err == nil {
			stage, iteration := eventNode(p, e)
			superseded = append(superseded, SupersededAttempt{stage, iteration, d})
		}
	}
	return late, superseded
}

// eventNode returns the node id and the iteration of an event.
func eventNode(p *plan.Plan, e event.Event) (stage string, iteration int) {
	_, at, _, ok := e.Key.Parse()
	if !ok {
		return "", 0
	}
	if n := p.Find(at.Node); n != nil {
		stage = n.ID
	}
	return stage, at.Iteration
}

// Health rates the progress of a run from its events alone (REQUIREMENTS U233).
type Health struct {
	// Score is 1 - 0.1 for each of ConsecutiveErrors - 0.05 for each of WithoutProgress, from 0 to 1, in
	// steps of 0.01.
	Score float64 `json:"score"`
	// Label is [HealthWarning] below [HealthThreshold], else [HealthOK].
	Label string `json:"label"`
	// Errors counts the error events of the run, ConsecutiveErrors those since the last success.
	Errors            int `json:"errors"`
	ConsecutiveErrors int `json:"consecutive_errors"`
	// WithoutProgress counts iterations whose agents suspected a plateau or reported no work.
	WithoutProgress int `json:"iterations_without_progress"`
}

// Labels of [Health], and the score below which the label is a warning.
const (
	HealthOK        = "ok"
	HealthWarning   = "warning"
	HealthThreshold = 0.3
)

// Health rates the session's latest run. A session that never began has score 1.
func (e *Engine) Health(session string) (Health, error) {
	dir, err := e.open(session)
	if err != nil {
		return Health{}, err
	}
	defer dir.Close()
	var h Health
	_, err = journal.Read(dir, func(e event.Event) error {
		h.apply(e)
		return nil
	})
	if err != nil {
		return Health{}, err
	}
	return h.withScore(), nil
}

// apply counts an event.
func (h *Health) apply(e event.Event) {
	switch e.Type {
	case event.SessionStart:
		*h = Health{}
	case event.Error:
		h.Errors++
		h.ConsecutiveErrors++
	case event.SessionComplete:
		h.ConsecutiveErrors = 0
	case event.NodeComplete:
		if d, err := event.Decode[event.NodeCompleteData](e); err != nil || d.Status != "failed" {
			h.ConsecutiveErrors = 0
		}
	case event.IterationComplete:
		h.ConsecutiveErrors = 0
		if !madeProgress(e) {
			h.WithoutProgress++
		}
	}
}

// withScore returns the counts with score and label.
func (h Health) withScore() Health {
	score := 1 - 0.1*float64(h.ConsecutiveErrors) - 0.05*float64(h.WithoutProgress)
	h.Score = max(0, math.Round(score*100)/100)
	h.Label = HealthOK
	if h.Score < HealthThreshold {
		h.Label = HealthWarning
	}
	return h
}

// madeProgress reports whether an iteration did any work. Events of the Bash engine lack this unless the
// agent suspected a plateau; otherwise they count as progress.
func madeProgress(e event.Event) bool {
	d, err := event.Decode[struct {
		Summary        string        `json:"summary"`
		FilesTouched   []string      `json:"files_touched"`
		ItemsCompleted []string      `json:"items_completed"`
		Signals        event.Signals `json:"signals"`
	}](e)
	if err != nil {
		return true
	}
	reported := d.Summary != "" || len(d.ItemsCompleted) > 0 || len(d.FilesTouched) > 0
	return !d.Signals.PlateauSuspected && (reported || e.RunID == "")
}

// secretFold collects the secrets found in files of the last run's agents.
type secretFold []event.SecretFoundData

func (all *secretFold) apply(e event.Event) {
	switch e.Type {
	case event.SessionStart:
		*all = nil
	case event.SecretFound:
		if d, err := event.Decode[event.SecretFoundData](e); err == nil && !slices.Contains(*all, d) {
			*all = append(*all, d)
		}
	}
}

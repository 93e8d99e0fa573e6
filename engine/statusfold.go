package engine

import (
	"math"
	"slices"

	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/journal"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
)

// processes are the plugin processes that the last kernel of a session started, in order, as its journal says.
type processes []event.PluginData

func (all *processes) take(e event.Event) {
	switch e.Type {
	case event.KernelStart:
		*all = nil
	case event.PluginStarted:
		if d, err := event.Decode[event.PluginData](e); err == nil {
			*all = append(*all, d)
		}
	}
}

// told is what events tell of a session beside its state.
type told struct {
	plugins   processes
	secrets   secretsFound
	survivors survivors
	givenUp   givenUp
	health    Health
}

func (t *told) take(e event.Event) {
	t.plugins.take(e)
	t.secrets.take(e)
	t.survivors.take(e)
	t.givenUp.take(e)
	t.health.take(e)
}

// survivors are the processes that were left behind in the last run of a session.
type survivors []Survivor

func (all *survivors) take(e event.Event) {
	switch e.Type {
	case event.SessionStart:
		*all = nil
	case event.SurvivorEnded:
		if d, err := event.Decode[Survivor](e); err == nil {
			*all = append(*all, d)
		}
	}
}

// maxGivenUp is how many late deliveries and superseded attempts a [Status] has.
const maxGivenUp = 50

// Late is what an attempt of a session delivered after it was given up, and what became of that.
type Late struct {
	Stage     string `json:"stage,omitempty"` // id of the node
	Iteration int    `json:"iteration,omitempty"`
	event.LateDeliveryData
}

// Superseded is an attempt of a session that was made again, with what changed in the workspace meanwhile.
type Superseded struct {
	Stage     string `json:"stage,omitempty"` // id of the node
	Iteration int    `json:"iteration,omitempty"`
	event.AttemptSupersededData
}

// givenUp are the events of the last late deliveries and superseded attempts of the last run.
type givenUp struct{ late, superseded []event.Event }

func (g *givenUp) take(e event.Event) {
	switch e.Type {
	case event.SessionStart:
		*g = givenUp{}
	case event.LateDelivery:
		g.late = lastOf(g.late, e)
	case event.AttemptSuperseded:
		g.superseded = lastOf(g.superseded, e)
	}
}

// lastOf are the last [maxGivenUp] events with the next one.
func lastOf(events []event.Event, e event.Event) []event.Event {
	if len(events) == maxGivenUp {
		events = slices.Delete(events, 0, 1)
	}
	return append(events, e)
}

// of says what they tell of a session that follows the plan.
func (g *givenUp) of(p *plan.Plan) (late []Late, superseded []Superseded) {
	for _, e := range g.late {
		if d, err := event.Decode[event.LateDeliveryData](e); err == nil {
			stage, iteration := whereIs(p, e)
			late = append(late, Late{stage, iteration, d})
		}
	}
	for _, e := range g.superseded {
		if d, err := event.Decode[event.AttemptSupersededData](e); err == nil {
			stage, iteration := whereIs(p, e)
			superseded = append(superseded, Superseded{stage, iteration, d})
		}
	}
	return late, superseded
}

// whereIs is the id of the node and the iteration that an event is about.
func whereIs(p *plan.Plan, e event.Event) (stage string, iteration int) {
	_, at, _, ok := e.Key.Parse()
	if !ok {
		return "", 0
	}
	if n := p.Find(at.Node); n != nil {
		stage = n.ID
	}
	return stage, at.Iteration
}

// Health says how well a run goes, by its events alone (REQUIREMENTS U233).
type Health struct {
	// Score is 1 - 0.1 for each of ConsecutiveErrors - 0.05 for each of WithoutProgress, from 0 to 1, in
	// steps of a hundredth.
	Score float64 `json:"score"`
	// Label is [HealthWarning] below [HealthThreshold], else [HealthOK].
	Label string `json:"label"`
	// Errors are all error events of the run, ConsecutiveErrors those since something last succeeded.
	Errors            int `json:"errors"`
	ConsecutiveErrors int `json:"consecutive_errors"`
	// WithoutProgress counts the iterations whose agents suspected a plateau, or reported no work at all.
	WithoutProgress int `json:"iterations_without_progress"`
}

// The labels, and the score below which the second one holds.
const (
	HealthOK        = "ok"
	HealthWarning   = "warning"
	HealthThreshold = 0.3
)

// Health judges the session's newest run. A session that never began is well.
func (e *Engine) Health(session string) (Health, error) {
	dir, err := e.open(session)
	if err != nil {
		return Health{}, err
	}
	defer dir.Close()
	var h Health
	_, err = journal.Read(dir, func(e event.Event) error {
		h.take(e)
		return nil
	})
	if err != nil {
		return Health{}, err
	}
	return h.judged(), nil
}

// take counts the next event.
func (h *Health) take(e event.Event) {
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
		if !progressed(e) {
			h.WithoutProgress++
		}
	}
}

// judged is what was counted, with the score.
func (h Health) judged() Health {
	score := 1 - 0.1*float64(h.ConsecutiveErrors) - 0.05*float64(h.WithoutProgress)
	h.Score = max(0, math.Round(score*100)/100)
	h.Label = HealthOK
	if h.Score < HealthThreshold {
		h.Label = HealthWarning
	}
	return h
}

// progressed says whether an iteration did something. The Bash engine's events do not tell, unless the
// agent suspected a plateau; of them nothing bad is assumed.
func progressed(e event.Event) bool {
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

// secretsFound are the secrets in files of the agents of the last run that the events tell of.
type secretsFound []event.SecretFoundData

func (all *secretsFound) take(e event.Event) {
	switch e.Type {
	case event.SessionStart:
		*all = nil
	case event.SecretFound:
		if d, err := event.Decode[event.SecretFoundData](e); err == nil && !slices.Contains(*all, d) {
			*all = append(*all, d)
		}
	}
}

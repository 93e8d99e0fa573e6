package engine

import (
	"math"

	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/journal"
)

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

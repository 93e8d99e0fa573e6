package inspect

import (
	"math"
	"slices"

	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/kernel/pluginhost/process"
)

// Findings lists the leftovers of agents and plugins that kernels found.
type Findings struct {
	// Survivors lists processes of this run that were found outside their plugins' process groups. Processes of a killed
	// kernel were found when the session was opened, processes of a plugin when the plugin stopped.
	Survivors []Survivor `json:"survivors,omitempty"`
	// Late lists the last 50 refused deliveries of abandoned attempts.
	Late []LateDelivery `json:"late,omitempty"`
	// Secrets lists secrets found in files that agents of the run wrote.
	Secrets []event.SecretFoundData `json:"secrets_found,omitempty"`
	// Refused lists the last 50 files of the run's inbox, and resolution files, that did not count.
	Refused []event.MessageRefusedData `json:"messages_refused,omitempty"`
	// Unmeasured lists the ids of the checks that the plan leaves out, if no other check of the run measured anything.
	Unmeasured []string `json:"unmeasured,omitempty"`
}

// statusFold collects from the events the parts of Status that are not in the state. SessionStart resets everything
// but the plugins, which KernelStart resets.
type statusFold struct {
	plan    *plan.Plan         // of the session
	plugins []event.PluginData // processes that the last kernel started, in order
	health  Health
	// measured is true if a check of the run measured anything.
	measured bool
	Findings
}

// begin begins the collection for a session with the plan.
func (t *statusFold) begin(p *plan.Plan) func(event.Event) {
	t.plan = p
	return t.apply
}

func (t *statusFold) apply(e event.Event) {
	(*SecretFold)(&t.Secrets).Apply(e)
	switch e.Type {
	case event.SessionStart:
		t.Findings, t.health, t.measured = Findings{}, Health{}, false
	case event.SessionComplete:
		t.health.ConsecutiveErrors = 0
	case event.Error:
		t.health.Errors++
		t.health.ConsecutiveErrors++
	case event.NodeComplete:
		if d, err := event.Decode[event.NodeCompleteData](e); err != nil || d.Status != "failed" {
			t.health.ConsecutiveErrors = 0
		}
	case event.IterationComplete:
		t.health.ConsecutiveErrors = 0
		if !madeProgress(e) {
			t.health.WithoutProgress++
		}
	case event.KernelStart:
		t.plugins = nil
	case event.PluginStarted:
		t.plugins = appendData(t.plugins, e)
	case event.MessageRefused:
		t.Refused = appendData(t.Refused, e)
		t.Refused = t.Refused[max(0, len(t.Refused)-maxListed):]
	case event.CheckResult:
		d, err := event.Decode[event.CheckResultData](e)
		switch {
		case err != nil:
		case !d.Skipped:
			t.measured, t.Unmeasured = true, nil
		case !t.measured && !slices.Contains(t.Unmeasured, d.ID):
			t.Unmeasured = append(t.Unmeasured, d.ID)
		}
	case event.SurvivorEnded:
		t.Survivors = appendData(t.Survivors, e)
	case event.LateDelivery:
		if d, err := event.Decode[event.LateDeliveryData](e); err == nil {
			stage, iteration := t.node(e)
			t.Late = append(t.Late, LateDelivery{stage, iteration, d})
			t.Late = t.Late[max(0, len(t.Late)-maxListed):]
		}
	}
}

// appendData appends the payload of an event, unless it cannot be decoded.
func appendData[T any](all []T, e event.Event) []T {
	if d, err := event.Decode[T](e); err == nil {
		all = append(all, d)
	}
	return all
}

// Survivor is a process that a plugin or a dead kernel left running.
type Survivor = process.Survivor

// maxListed bounds the late deliveries, and the refused messages, in a [Status].
const maxListed = 50

// LateDelivery is a delivery of an abandoned attempt, and its treatment.
type LateDelivery struct {
	Stage     string `json:"stage,omitempty"` // id of the node
	Iteration int    `json:"iteration,omitempty"`
	event.LateDeliveryData
}

// node returns the node id and the iteration of an event.
func (t *statusFold) node(e event.Event) (stage string, iteration int) {
	_, at, _, ok := e.Key.Parse()
	if !ok {
		return "", 0
	}
	if n := t.plan.Find(at.Node); n != nil {
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

// madeProgress reports whether an iteration's agent reported work and suspected no plateau. Events of the Bash engine
// do not report work; they count as progress unless the agent suspected a plateau.
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

// SecretFold collects the secrets found in files of the last run's agents.
type SecretFold []event.SecretFoundData

// Apply adds a secret, and forgets all at the start of a run.
func (all *SecretFold) Apply(e event.Event) {
	switch e.Type {
	case event.SessionStart:
		*all = nil
	case event.SecretFound:
		if d, err := event.Decode[event.SecretFoundData](e); err == nil && !slices.Contains(*all, d) {
			*all = append(*all, d)
		}
	}
}

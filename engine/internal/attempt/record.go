package attempt

import (
	"encoding/json"
	"time"

	"github.com/dodo-digital/agent-pipelines/kernel/event"
)

// record is a line of attempts.jsonl. Each attempt has two: one at its start without ended_at, one at its end
// (REQUIREMENTS U069).
type record struct {
	Attempt    int    `json:"attempt"`
	Epoch      int    `json:"epoch"`
	Status     string `json:"status"` // running, completed, failed
	Error      string `json:"error,omitempty"`
	ErrorType  string `json:"error_type,omitempty"`
	StartedAt  string `json:"started_at"`
	EndedAt    string `json:"ended_at,omitempty"`
	OutputPath string `json:"output_path,omitempty"` // relative to the session
	// Heal numbers this retry among those caused by an invalid artifact, and Faults are that artifact's faults. Both
	// only at the start.
	Heal   int           `json:"heal,omitempty"`
	Faults []event.Fault `json:"faults,omitempty"`
}

func (a *attempt) recordStart() error {
	r := record{Status: "running"}
	if faults := a.loop().Faults; len(faults) > 0 && a.command.Attempt > 1 {
		r.Heal, r.Faults = a.loop().ArtifactRetries, faults
	}
	return a.appendRecord(r)
}

func (a *attempt) recordEnd(status string, d *event.FailureData, out *event.Ref) error {
	r := record{Status: status, EndedAt: formatTime(time.Now())}
	if d != nil {
		r.Error, r.ErrorType = d.Message, d.ErrorType
	}
	if out != nil {
		r.OutputPath = out.Path
	}
	return a.appendRecord(r)
}

func (a *attempt) appendRecord(r record) error {
	r.Attempt, r.Epoch, r.StartedAt = a.command.Attempt, a.state.Epoch, formatTime(a.started)
	b, err := json.Marshal(r)
	if err != nil {
		return err
	}
	return a.Dir.Append(a.iteration.Attempts(), b)
}

func formatTime(t time.Time) string { return t.UTC().Format(time.RFC3339Nano) }

package attemptdir

import (
	"bytes"
	"encoding/json"
	"errors"
	"io/fs"
	"time"

	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"

	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/store"
)

// maxRecords bounds attempts.jsonl, in bytes.
const maxRecords = 64 << 20

// record is a line of attempts.jsonl. Each attempt has two lines: one at its start without ended_at, one at its end
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
	// Heal numbers this retry among the retries caused by an invalid artifact, and Faults are that artifact's faults.
	// Only the line at the start has them.
	Heal   int           `json:"heal,omitempty"`
	Faults []event.Fault `json:"faults,omitempty"`
}

// previous is the attempt before this attempt, in the same iteration.
type previous struct {
	record            // the attempt's last line of attempts.jsonl
	endedAt time.Time // when the attempt was abandoned, or when this kernel opened the session
}

// findPrevious returns the previous attempt of the iteration, nil for the first. openedAt is the time when this kernel
// opened the session. Call it before this attempt writes any file.
func findPrevious(d *store.Dir, it store.Iteration, openedAt time.Time) (*previous, error) {
	info, err := d.Stat(it.Attempts())
	if err != nil { // an iteration of the Bash engine has no such file
		return nil, ignoreNotExist(err)
	}
	text, err := d.Read(it.Attempts(), maxRecords)
	if err != nil {
		return nil, err
	}
	p := &previous{endedAt: openedAt}
	for line := range bytes.Lines(text) {
		var r record
		if json.Unmarshal(line, &r) == nil && r.Attempt > 0 {
			p.record = r
		}
	}
	if p.EndedAt != "" && info.ModTime().After(p.endedAt) {
		p.endedAt = info.ModTime()
	}
	return p, nil
}

// ignoreNotExist returns nil for the error of a missing file, else err.
func ignoreNotExist(err error) error {
	var known *failure.Error // the session's directory is missing
	if errors.Is(err, fs.ErrNotExist) && !errors.As(err, &known) {
		return nil
	}
	return err
}

func formatTime(t time.Time) string { return t.UTC().Format(time.RFC3339Nano) }

package measure

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"

	"github.com/dodo-digital/agent-pipelines/bench/internal/sample"
	"github.com/dodo-digital/agent-pipelines/bench/internal/table"
)

// Recorded holds times of the Bash engine in seconds, measured once for the same work as our rows, in mock mode and
// without delays. They include the programs that the engine starts. They are from another day and perhaps another
// machine, so only large ratios are meaningful.
type Recorded struct {
	// Iteration is the additional time of a loop per iteration.
	Iteration struct {
		Wall     float64 `json:"wall"`
		Programs int     `json:"program_starts"`
	} `json:"per_iteration_seconds"`
	// Pipeline is the time of a pipeline of three stages with one iteration each.
	Pipeline struct {
		Wall float64 `json:"wall"`
	} `json:"pipeline_3_stages_seconds"`
	// First is the time from the launch to the first call of the agent.
	First struct {
		Loop float64 `json:"loop"`
	} `json:"launch_to_first_provider_call_seconds"`
	// Status is the time of the status command for a session with 54 events.
	Status float64 `json:"status_54_events_seconds"`
	// Replay is the time of a resume per existing event, without the start.
	Replay float64 `json:"replay_per_event_seconds"`
}

// figure is one recorded figure and the key of our row for the same work.
type figure struct {
	key, how, target string
	seconds          float64
}

// figures returns the figures to compare with. events is the number of events of the smallest session.
func (r *Recorded) figures(events int) []figure {
	return []figure{
		{"iteration", fmt.Sprintf(" (%d programs started)", r.Iteration.Programs), "at most 0.01×", r.Iteration.Wall},
		{"pipeline", "", "", r.Pipeline.Wall},
		{"start", "", "", r.First.Loop},
		{"status", ", 54 events", "", r.Status},
		{"resume", fmt.Sprintf(", replay of the %d events alone", events), "", r.Replay * float64(events)},
	}
}

// ReadRecorded reads the figures from a JSON file. A missing figure is an error.
func ReadRecorded(file string) (*Recorded, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	r := &Recorded{}
	if err := json.Unmarshal(text, r); err != nil {
		return nil, fmt.Errorf("read figures of the Bash engine from %s: %w", file, err)
	}
	for _, f := range r.figures(1) {
		if f.seconds <= 0 {
			return nil, fmt.Errorf("read figures of the Bash engine from %s: that for %s is missing", file, f.key)
		}
	}
	return r, nil
}

// BashEngine begins the peer's cell in each row that compares with the Bash engine.
const BashEngine = "the Bash engine, recorded"

// addTo appends a copy of each row that has a figure of the Bash engine, with that figure as its peer.
func (r *Recorded) addTo(rows []table.Row, events int) []table.Row {
	for _, f := range r.figures(events) {
		if i := slices.IndexFunc(rows, func(row table.Row) bool { return row.Key == f.key }); i >= 0 {
			row := rows[i]
			row.Peer, row.Theirs, row.Target, row.Key = BashEngine+f.how, sample.Constant(f.seconds, len(row.Ours)), f.target, ""
			rows = append(rows, row)
		}
	}
	return rows
}

// Parity describes the work on both sides of the rows that compare with the Bash engine.
func (r *Recorded) Parity() string {
	return fmt.Sprintf(`Beside the Bash engine: its figures were recorded once, on another day, and are constants here, so their ratios count in their size
only. Both engines run the same pipelines in mock mode, without delays, in the foreground, and leave a session's files. For that, ours starts a plugin
process and, in each iteration, has 3 commits of the journal and 2 files on the disk before it continues; theirs starts %d programs for an iteration and
syncs nothing. Neither calls a model: with a real agent, minutes come to both sides. The row of the resume has on our side all of it up to the
agent's call, on theirs only the replay of the events.
`, r.Iteration.Programs)
}

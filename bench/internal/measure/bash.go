package measure

import (
	"encoding/json"
	"fmt"
	"os"
)

// Recorded are figures of the Bash engine in seconds, recorded once with the work that
// [bench.besideBash] measures: mock mode, no delays, and all programs that the engine starts. They
// are from another day and perhaps another machine, so only large ratios are meaningful.
type Recorded struct {
	// Loop is the duration of a loop by its number of iterations.
	Loop map[int]Seconds `json:"loop_seconds"`
	// Iteration is the additional time of a loop per iteration.
	Iteration struct {
		Seconds
		Programs int `json:"program_starts"`
	} `json:"per_iteration_seconds"`
	// Pipeline is three stages of one iteration each, Block two concurrent providers with one
	// iteration each.
	Pipeline Seconds `json:"pipeline_3_stages_seconds"`
	Block    Seconds `json:"parallel_2_providers_seconds"`
	// First is the time from the launch to the first call of the agent.
	First struct {
		Loop     float64 `json:"loop"`
		Pipeline float64 `json:"pipeline_3_stages"`
	} `json:"launch_to_first_provider_call_seconds"`
	// Status is of a session with 54 events, as a loop of 25 iterations leaves.
	Status float64 `json:"status_54_events_seconds"`
	// Replay is the time of a resume per existing event, without the start.
	Replay float64 `json:"replay_per_event_seconds"`
}

// Seconds are the wall-clock time of a whole run, and the processor time of all its processes.
type Seconds struct {
	Wall float64 `json:"wall"`
	CPU  float64 `json:"cpu"`
}

// ReadRecorded reads the figures from a JSON file. A missing figure that a row needs is an error.
func ReadRecorded(file string) (*Recorded, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	r := &Recorded{}
	if err := json.Unmarshal(text, r); err != nil {
		return nil, fmt.Errorf("read figures of the Bash engine from %s: %w", file, err)
	}
	for name, n := range map[string]float64{
		"loop_seconds.10.wall": r.Loop[bashLoop].Wall, "loop_seconds.10.cpu": r.Loop[bashLoop].CPU,
		"per_iteration_seconds.wall": r.Iteration.Wall, "per_iteration_seconds.program_starts": float64(r.Iteration.Programs),
		"pipeline_3_stages_seconds.wall": r.Pipeline.Wall, "parallel_2_providers_seconds.wall": r.Block.Wall,
		"launch_to_first_provider_call_seconds.loop":              r.First.Loop,
		"launch_to_first_provider_call_seconds.pipeline_3_stages": r.First.Pipeline,
		"status_54_events_seconds":                                r.Status, "replay_per_event_seconds": r.Replay,
	} {
		if n <= 0 {
			return nil, fmt.Errorf("read figures of the Bash engine from %s: %s is missing", file, name)
		}
	}
	return r, nil
}

const (
	// bashLoop is the length of the loop that is compared as a whole.
	bashLoop = 10
	// bashLong is the length of the loop for status and resume. With one more iteration begun, the
	// Bash engine leaves bashEvents events.
	bashLong   = 25
	bashEvents = 2 + 2*bashLong + 1 // session_start, node_start; start and end of iterations; a start
)

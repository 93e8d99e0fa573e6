package measure

import (
	"encoding/json"
	"fmt"
	"os"
)

// Recorded are figures of the Bash engine, recorded once with the work that [bench.besideBash] measures:
// mock mode, no delays, every program of the engine's own started as often as it starts it. All are
// seconds. They come from another day and perhaps another machine, so the ratios say more than the times.
type Recorded struct {
	// Loop is how long a loop takes, by its number of iterations.
	Loop map[int]Seconds `json:"loop_seconds"`
	// Iteration is how much longer a loop takes with each iteration.
	Iteration struct {
		Seconds
		Programs int `json:"program_starts"`
	} `json:"per_iteration_seconds"`
	// Pipeline is three stages of one iteration each, Block two providers side by side with one each.
	Pipeline Seconds `json:"pipeline_3_stages_seconds"`
	Block    Seconds `json:"parallel_2_providers_seconds"`
	// First is from the launch to the first call of the agent.
	First struct {
		Loop     float64 `json:"loop"`
		Pipeline float64 `json:"pipeline_3_stages"`
	} `json:"launch_to_first_provider_call_seconds"`
	// Status is of a session with the 54 events that a loop of 25 iterations leaves there.
	Status float64 `json:"status_54_events_seconds"`
	// Replay is what a resume takes for each event that lies there, besides starting.
	Replay float64 `json:"replay_per_event_seconds"`
}

// Seconds are those of a whole run: on the wall's clock, and those that all its processes computed.
type Seconds struct {
	Wall float64 `json:"wall"`
	CPU  float64 `json:"cpu"`
}

// ReadRecorded reads the figures from a JSON file. It is an error if one that a row needs is missing.
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

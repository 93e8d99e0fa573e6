package measure

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"

	"github.com/dodo-digital/agent-pipelines/bench/internal/ground"
	"github.com/dodo-digital/agent-pipelines/bench/internal/sample"
	"github.com/dodo-digital/agent-pipelines/bench/internal/table"
)

// Recorded are figures of the Bash engine, recorded once with the work that [bench.besideBash] measures:
// mock mode, no delays, every program of the engine's own started as often as it starts it. All are
// seconds of a clock on the wall. They come from another day and perhaps another machine, so the ratios
// say more than the times.
type Recorded struct {
	// Loop is how long a loop takes, by its number of iterations.
	Loop map[int]Seconds `json:"loop_seconds"`
	// Pipeline is three stages of one iteration each, Block two providers side by side with one each.
	Pipeline Seconds `json:"pipeline_3_stages_seconds"`
	Block    Seconds `json:"parallel_2_providers_seconds"`
	// First is from the launch to the first call of the agent.
	First struct {
		Loop float64 `json:"loop"`
	} `json:"launch_to_first_provider_call_seconds"`
}

// Seconds are those of a whole run.
type Seconds struct {
	Wall float64 `json:"wall"`
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
	for name, seconds := range map[string]float64{
		"loop_seconds.10.wall": r.Loop[bashLoop].Wall, "pipeline_3_stages_seconds.wall": r.Pipeline.Wall,
		"parallel_2_providers_seconds.wall": r.Block.Wall, "launch_to_first_provider_call_seconds.loop": r.First.Loop,
	} {
		if seconds <= 0 {
			return nil, fmt.Errorf("read figures of the Bash engine from %s: %s is missing", file, name)
		}
	}
	return r, nil
}

// bashLoop is the length of the loop that is compared.
const bashLoop = 10

// besideBash puts whole runs of ours beside those of the Bash engine; no rows without its figures.
func (b *bench) besideBash(ctx context.Context) ([]table.Row, error) {
	if b.Bash == nil {
		return nil, nil
	}
	var rows []table.Row
	for _, run := range []struct {
		what, pipeline string
		theirs         float64
	}{
		{fmt.Sprintf("a loop of %d iterations, command's start to end", bashLoop), ground.Loop("mock", bashLoop), b.Bash.Loop[bashLoop].Wall},
		{"a pipeline of 3 stages, command's start to end", ground.Stages("mock", 3), b.Bash.Pipeline.Wall},
		{"a block of 2 providers, command's start to end", ground.Block("mock", 2), b.Bash.Block.Wall},
	} {
		ours, err := b.whole(ctx, run.pipeline)
		if err != nil {
			return nil, err
		}
		rows = append(rows, recordedRow(run.what, ours, run.theirs))
	}
	first, err := b.firstCalls(ctx)
	if err != nil {
		return nil, err
	}
	return append(rows, recordedRow("start of a loop's command to the agent's first call", first, b.Bash.First.Loop)), nil
}

func recordedRow(what string, ours sample.Series, theirs float64) table.Row {
	return table.Row{What: what, Ours: ours, Peer: "the Bash engine, recorded", Theirs: sample.Constant(theirs, len(ours))}
}

// whole are the times of runs of a pipeline.
func (b *bench) whole(ctx context.Context, pipeline string) (sample.Series, error) {
	p, err := b.Project(pipeline)
	if err != nil {
		return nil, err
	}
	n := 0
	all, err := sample.InTurn(ctx, b.BashRuns, func(ctx context.Context) (float64, error) {
		n++
		return timed(func() error { return p.Run(ctx, fmt.Sprintf("s%d", n)) })
	})
	if err != nil {
		return nil, err
	}
	return all[0], nil
}

// firstCalls are the times from the start of the command to the moment when the agent is called.
func (b *bench) firstCalls(ctx context.Context) (_ sample.Series, err error) {
	p, err := b.Project(ground.Loop("mock", 1))
	if err != nil {
		return nil, err
	}
	w, err := b.Watch(0)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, w.Close()) }()
	n := 0
	all, err := sample.InTurn(ctx, b.BashRuns, func(ctx context.Context) (float64, error) {
		n++
		return b.firstCall(ctx, p, w, fmt.Sprintf("s%d", n))
	})
	if err != nil {
		return nil, err
	}
	return all[0], nil
}

package measure

import (
	"context"
	"fmt"
	"time"

	"github.com/dodo-digital/agent-pipelines/bench/internal/ground"
	"github.com/dodo-digital/agent-pipelines/bench/internal/sample"
	"github.com/dodo-digital/agent-pipelines/bench/internal/table"
)

// Effort is how much is measured. All numbers are at least 1.
type Effort struct {
	// Rounds of the rows about iterations, with so many Iterations in each; at least 3.
	Rounds, Iterations int
	// CallRounds of the rows about calls, with so many Calls in each.
	CallRounds, Calls int
	// Starts of the command and of the programs beside it, and of whole pipelines.
	Starts int
	// MemoryRuns of a session with so many iterations.
	MemoryRuns, MemoryIterations int
	// History is the number of earlier iterations that a context is prepared with, in so many runs.
	History, HistoryRuns int
	// Told is the number of iterations in a session whose agent is told all there is.
	Told int
	// JournalRounds of the rows about the journal.
	JournalRounds int
	// Young, Middle and Old are the iterations that sessions of different ages are at when they are compared, in
	// LongRounds of an iteration each, with a pause of LongPause before each round.
	Young, Middle, Old, LongRounds int
	LongPause                      time.Duration
	// TurnRounds of an attempt with so many Turns, and of a node with so many Steps.
	TurnRounds, Turns, Steps int
	// Night is the number of turns of an attempt whose memory is looked at, Evening that of the one beside it.
	Night, Evening int
	// BashRuns of each row beside the Bash engine.
	BashRuns int
}

// Full takes about three minutes on a machine that has nothing else to do.
func Full() Effort {
	return Effort{
		Rounds: 15, Iterations: 40, CallRounds: 30, Calls: 200, Starts: 30, MemoryRuns: 5, MemoryIterations: 200,
		History: 200, HistoryRuns: 5, Told: 40, JournalRounds: 30, BashRuns: 10,
		TurnRounds: 10, Turns: 40, Steps: 20, Night: 500, Evening: 50,
		Young: 10, Middle: 450, Old: 1000, LongRounds: 30, LongPause: 1100 * time.Millisecond,
	}
}

// Smoke is enough to see that everything still runs, and too little to learn anything.
func Smoke() Effort {
	return Effort{
		Rounds: 1, Iterations: 3, CallRounds: 1, Calls: 3, Starts: 1, MemoryRuns: 1, MemoryIterations: 2,
		History: 3, HistoryRuns: 1, Told: 4, JournalRounds: 1, BashRuns: 1,
		TurnRounds: 1, Turns: 3, Steps: 2, Night: 6, Evening: 3,
		Young: 1, Middle: 3, Old: 6, LongRounds: 2,
	}
}

// bench is what every measurement works with.
type bench struct {
	*ground.Ground
	Effort
	Bash *Recorded
}

// All measures everything, tells before each part which one it is, and returns the rows of the table
// in their order. Without figures of the Bash engine there are no rows beside it.
func All(ctx context.Context, g *ground.Ground, effort Effort, bash *Recorded, tell func(part string)) ([]table.Row, error) {
	b := &bench{g, effort, bash}
	var rows []table.Row
	for _, part := range []struct {
		name string
		make func(context.Context) ([]table.Row, error)
	}{
		{"iterations", b.iterations},
		{"a long session", b.long},
		{"context", b.contexts},
		{"briefs", b.briefs},
		{"calls", b.calls},
		{"journal", b.journal},
		{"starts", b.starts},
		{"isolation", b.isolation},
		{"pipelines", b.pipelines},
		{"cycles", b.cycles},
		{"tools", b.tools},
		{"a night of turns", b.night},
		{"memory", b.memory},
		{"whole runs, beside the Bash engine", b.besideBash},
	} {
		tell(part.name)
		more, err := part.make(ctx)
		if err != nil {
			return nil, fmt.Errorf("measure %s: %w", part.name, err)
		}
		rows = append(rows, more...)
	}
	return rows, nil
}

// timed is how long f took, in seconds.
func timed(f func() error) (float64, error) {
	start := time.Now()
	err := f()
	return time.Since(start).Seconds(), err
}

// medianOf is the median time of n calls of f, in seconds.
func medianOf(n int, f func() error) (float64, error) {
	times := make(sample.Series, n)
	for i := range times {
		var err error
		if times[i], err = timed(f); err != nil {
			return 0, err
		}
	}
	return times.Median(), nil
}

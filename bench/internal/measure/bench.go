package measure

import (
	"context"
	"time"

	"github.com/dodo-digital/agent-pipelines/bench/internal/ground"
	"github.com/dodo-digital/agent-pipelines/bench/internal/sample"
)

// Effort is the amount of measurement. All numbers are at least 1 unless noted.
type Effort struct {
	// Rounds is the number of rounds of rows about iterations, at least 3, Iterations their number
	// per round.
	Rounds, Iterations int
	// CallRounds is the number of rounds of rows about calls, Calls their number per round.
	CallRounds, Calls int
	// Starts is the number of starts of the command, of its peers, and of whole pipelines.
	Starts int
	// MemoryRuns is the number of sessions for memory, MemoryIterations their length.
	MemoryRuns, MemoryIterations int
	// History is the number of iterations before a measured context, HistoryRuns the number of
	// runs.
	History, HistoryRuns int
	// FullContext is the number of iterations in a session with context strategy full.
	FullContext int
	// JournalRounds is the number of rounds of rows about the journal.
	JournalRounds int
	// Young and Old are the compared iterations, each measured in LongRounds rounds with a
	// pause of LongPause before each.
	Young, Old, LongRounds int
	LongPause              time.Duration
	// GrowthRounds is the number of rounds of the growth benchmarks; 0 skips them.
	GrowthRounds int
	// Events are the sizes of the sessions for status and resume, smallest first. An agent works
	// for Settle before its kernel is killed, if state.json is too large to be written earlier.
	Events     []EventRounds
	WriteDelay time.Duration
	// TurnRounds is the number of rounds, Turns the turns of an attempt, Steps the steps of a node.
	TurnRounds, Turns, Steps int
	// Live is the number of live sessions with a plugin in one engine, CrowdRuns the number of starts of such an
	// engine.
	Live, CrowdRuns int
	// Branches is the number of providers of a block, with BlockRounds.
	Branches, BlockRounds int
	// BashRuns is the number of runs of each row beside the Bash engine.
	BashRuns int
}

// Full takes about ten minutes on an idle machine.
func Full() Effort {
	return Effort{
		Rounds: 15, Iterations: 40, CallRounds: 30, Calls: 200, Starts: 30, MemoryRuns: 5, MemoryIterations: 200,
		History: 200, HistoryRuns: 5, FullContext: 40, JournalRounds: 30, BashRuns: 10,
		TurnRounds: 10, Turns: 40, Steps: 20,
		Young: 10, Old: 10_000, LongRounds: 30, LongPause: 1100 * time.Millisecond, GrowthRounds: 15,
		Events: []EventRounds{{100, 10}, {10_000, 10}, {1_000_000, 3}}, WriteDelay: 2 * time.Second,
		Live: 100, CrowdRuns: 3, Branches: 16, BlockRounds: 10,
	}
}

// Gate is enough for the gate's rows and takes about a minute; again returns the effort of a
// repeated measurement.
func Gate(again bool) Effort {
	e := Effort{
		Rounds: 5, Iterations: 20, CallRounds: 10, Calls: 200, MemoryRuns: 2, MemoryIterations: 100, JournalRounds: 10,
		Young: 10, Old: 10_000, LongRounds: 10, LongPause: 300 * time.Millisecond,
		Events: []EventRounds{{100, 3}, {10_000, 3}}, WriteDelay: 500 * time.Millisecond,
		Branches: 16, BlockRounds: 3,
	}
	if again {
		e.Rounds, e.CallRounds, e.MemoryRuns, e.JournalRounds, e.LongRounds, e.BlockRounds = 15, 30, 5, 30, 30, 9
		e.Events = []EventRounds{{100, 9}, {10_000, 9}}
	}
	return e
}

// Smoke is only enough to check that everything runs.
func Smoke() Effort {
	return Effort{
		Rounds: 1, Iterations: 3, CallRounds: 1, Calls: 3, Starts: 1, MemoryRuns: 1, MemoryIterations: 2,
		History: 3, HistoryRuns: 1, FullContext: 4, JournalRounds: 1, BashRuns: 1,
		TurnRounds: 1, Turns: 3, Steps: 2,
		Young: 1, Old: 6, LongRounds: 2, GrowthRounds: 1,
		Events: []EventRounds{{10, 1}, {30, 1}}, Live: 2, CrowdRuns: 1, Branches: 3, BlockRounds: 1,
	}
}

// bench holds the data of all measurements.
type bench struct {
	*ground.Ground
	Effort
	Bash *Recorded
}

// pass waits; the error means that ctx ended earlier.
func pass(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// duration returns the duration of f in seconds.
func duration(f func() error) (float64, error) {
	start := time.Now()
	err := f()
	return time.Since(start).Seconds(), err
}

// medianTime returns the median duration of n calls of f in seconds.
func medianTime(n int, f func() error) (float64, error) {
	times := make(sample.Series, n)
	for i := range times {
		var err error
		if times[i], err = duration(f); err != nil {
			return 0, err
		}
	}
	return times.Median(), nil
}

// EventRounds is the number of status and resume calls on a session with a number of events.
type EventRounds struct{ Events, Rounds int }

// The targets of REQUIREMENTS U109 and U056; the hard limit is twice as much.
const (
	contextTarget    = 0.100 // seconds
	pipelineTarget   = 0.500 // seconds
	transitionTarget = 0.025 // seconds
	memoryTarget     = 100e6 // bytes
)

// The allowed resident memory in bytes: of a kernel with many live sessions, and of the mock
// plugin.
const (
	crowdTarget = 60e6
	mockTarget  = 25e6
)

// listBudget is the allowed time per iteration for a list of 1,000 earlier outputs, in seconds.
const listBudget = 0.001

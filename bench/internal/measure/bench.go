package measure

import (
	"context"
	"time"

	"github.com/dodo-digital/agent-pipelines/bench/internal/ground"
	"github.com/dodo-digital/agent-pipelines/bench/internal/sample"
)

// Effort is the amount of measurement.
type Effort struct {
	// Share divides the number of rounds of a full measurement: 1 for all rounds, 3 for a third.
	Share int
	// Iterations of a loop, Calls of a plugin, Turns of an attempt and Steps of a node are the numbers for one round.
	Iterations, Calls, Turns, Steps int
	// MemoryIterations is the length of the sessions for memory.
	MemoryIterations int
	// History is the number of iterations of a session whose last contexts are measured. FullContext is the same number
	// for a session with context strategy full.
	History, FullContext int
	// Young and Old are the iterations that are compared, with a pause of LongPause before each round. Growth also
	// measures state.json and the list of outputs, which grow with a session.
	Young, Old int
	LongPause  time.Duration
	Growth     bool
	// Events are the sizes of the sessions for status and resume, smallest first. In all but the smallest one an agent
	// works for WriteDelay before its kernel is killed, so that state.json is written.
	Events     []int
	WriteDelay time.Duration
	// Live is the number of live sessions with a plugin in one engine, Branches the number of providers of a block.
	Live, Branches int
}

// rounds returns the number of rounds for a part that has full rounds in a full measurement. It rounds up.
func (e Effort) rounds(full int) int { return (full + e.Share - 1) / e.Share }

// Full takes about ten minutes on an idle machine.
func Full() Effort {
	return Effort{
		Share: 1, Iterations: 40, Calls: 200, Turns: 40, Steps: 20, MemoryIterations: 200, History: 200, FullContext: 40,
		Young: 10, Old: 10_000, LongPause: 1100 * time.Millisecond, Growth: true,
		Events: []int{100, 10_000, 1_000_000}, WriteDelay: 2 * time.Second, Live: 100, Branches: 16,
	}
}

// Gate is enough for the gate's rows and takes about a minute. With again it returns the effort of a repeated
// measurement, which has all rounds.
func Gate(again bool) Effort {
	e := Effort{
		Share: 3, Iterations: 20, Calls: 200, MemoryIterations: 100, Young: 10, Old: 10_000, LongPause: 300 * time.Millisecond,
		Events: []int{100, 10_000}, WriteDelay: 500 * time.Millisecond, Branches: 16,
	}
	if again {
		e.Share = 1
	}
	return e
}

// Smoke is only enough to check that everything runs.
func Smoke() Effort {
	return Effort{
		Share: 100, Iterations: 3, Calls: 3, Turns: 3, Steps: 2, MemoryIterations: 2, History: 3, FullContext: 4,
		Young: 1, Old: 6, Growth: true, Events: []int{10, 30}, Live: 2, Branches: 3,
	}
}

// bench holds the data of all measurements.
type bench struct {
	*ground.Ground
	Effort
}

// pass waits for d. The error means that ctx ended earlier.
func pass(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// duration calls f and returns its duration in seconds.
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

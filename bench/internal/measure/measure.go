package measure

import (
	"context"
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"time"

	"github.com/dodo-digital/agent-pipelines/bench/internal/ground"
	"github.com/dodo-digital/agent-pipelines/bench/internal/sample"
	"github.com/dodo-digital/agent-pipelines/bench/internal/table"
)

// Effort is how much is measured. All numbers are at least 1 where nothing else is said.
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
	// GrowthRounds of the benchmarks of what grows with a session; 0: they are left out.
	GrowthRounds int
	// Events are the sizes of the sessions that are looked at and resumed, the smallest one first. An agent works for Settle
	// before its kernel is killed, where state.json is too large to be written before.
	Events []EventRounds
	Settle time.Duration
	// Looked is the number of iterations of a session that people look back at, in so many LookRounds.
	Looked, LookRounds int
	// TurnRounds of an attempt with so many Turns, and of a node with so many Steps.
	TurnRounds, Turns, Steps int
	// Night is the number of turns of an attempt whose memory is looked at, Evening that of the one beside it.
	Night, Evening int
	// Live is the number of live sessions with a plugin in one engine, Horde that of sessions without one, or 0: there are no
	// rows about those. A hundred are enough to tell their memory from the few pages by which any two processes differ. Both are
	// started CrowdRuns times.
	Live, Horde, CrowdRuns int
	// Branches of a parallel block, which runs in so many BlockRounds and CeilingRuns.
	Branches, BlockRounds, CeilingRuns int
	// BashRuns of each row beside the Bash engine.
	BashRuns int
}

// Full takes about ten minutes on a machine that has nothing else to do.
func Full() Effort {
	return Effort{
		Rounds: 15, Iterations: 40, CallRounds: 30, Calls: 200, Starts: 30, MemoryRuns: 5, MemoryIterations: 200,
		History: 200, HistoryRuns: 5, Told: 40, JournalRounds: 30, BashRuns: 10,
		TurnRounds: 10, Turns: 40, Steps: 20, Night: 500, Evening: 50,
		Young: 10, Middle: 450, Old: 10_000, LongRounds: 30, LongPause: 1100 * time.Millisecond, GrowthRounds: 15,
		Events: []EventRounds{{100, 10}, {10_000, 10}, {1_000_000, 3}}, Settle: 2 * time.Second,
		Live: 100, Horde: 1000, CrowdRuns: 3, Branches: 16, BlockRounds: 10, CeilingRuns: 5,
		Looked: 1000, LookRounds: 10,
	}
}

// Gate is enough for the rows that the gate looks at, and takes about a minute; again is what it takes a second look with.
func Gate(again bool) Effort {
	e := Effort{
		Rounds: 5, Iterations: 20, CallRounds: 10, Calls: 200, MemoryRuns: 2, MemoryIterations: 100, JournalRounds: 10,
		Young: 10, Middle: 60, Old: 10_000, LongRounds: 10, LongPause: 300 * time.Millisecond,
		Events: []EventRounds{{100, 3}, {10_000, 3}}, Settle: 500 * time.Millisecond,
		Branches: 16, BlockRounds: 3,
	}
	if again {
		e.Rounds, e.CallRounds, e.MemoryRuns, e.JournalRounds, e.LongRounds, e.BlockRounds = 15, 30, 5, 30, 30, 9
		e.Events = []EventRounds{{100, 9}, {10_000, 9}}
	}
	return e
}

// Smoke is enough to see that everything still runs, and too little to learn anything.
func Smoke() Effort {
	return Effort{
		Rounds: 1, Iterations: 3, CallRounds: 1, Calls: 3, Starts: 1, MemoryRuns: 1, MemoryIterations: 2,
		History: 3, HistoryRuns: 1, Told: 4, JournalRounds: 1, BashRuns: 1,
		TurnRounds: 1, Turns: 3, Steps: 2, Night: 6, Evening: 3,
		Young: 1, Middle: 4, Old: 6, LongRounds: 2, GrowthRounds: 1,
		Events: []EventRounds{{10, 1}, {30, 1}}, Live: 2, Horde: 100, CrowdRuns: 1, Branches: 3, BlockRounds: 1, CeilingRuns: 1,
		Looked: 3, LookRounds: 1,
	}
}

// bench is what every measurement works with.
type bench struct {
	*ground.Ground
	Effort
	Bash *Recorded
}

// All measures everything, tells before each part which one it is, and returns the rows of the table
// in their order. Without figures of the Bash engine there are no rows beside it. only, unless it is
// empty, are the names of the parts that are measured.
func All(ctx context.Context, g *ground.Ground, effort Effort, bash *Recorded, only []string, tell func(part string)) ([]table.Row, error) {
	b := &bench{g, effort, bash}
	parts := b.parts()
	for _, name := range only {
		if !slices.ContainsFunc(parts, func(p part) bool { return p.name == name }) {
			return nil, fmt.Errorf("there is no part %q; the parts are %s", name, names(parts))
		}
	}
	if len(only) > 0 {
		parts = slices.DeleteFunc(parts, func(p part) bool { return !slices.Contains(only, p.name) })
	}
	for _, p := range parts { // before minutes of others are lost
		if err := p.ready(); err != nil {
			return nil, err
		}
	}
	var rows []table.Row
	for _, p := range parts {
		tell(p.name)
		more, err := p.make(ctx)
		if err != nil {
			return nil, fmt.Errorf("measure %s: %w", p.name, err)
		}
		for _, r := range more {
			r.Part = p.name
			rows = append(rows, r)
		}
	}
	if len(rows) == 0 {
		return nil, fmt.Errorf("%s has no rows here", strings.Join(only, ", "))
	}
	return rows, nil
}

// part makes some rows of the table.
type part struct {
	name string
	make func(context.Context) ([]table.Row, error)
	// needs are programs that have to be installed.
	needs []string
}

// ready reports what the part lacks on this machine.
func (p part) ready() error {
	for _, program := range p.needs {
		if _, err := exec.LookPath(program); err != nil {
			return fmt.Errorf("measure %s: %w; install it, or say with -only what else to measure", p.name, err)
		}
	}
	return nil
}

// Bash is the part beside the Bash engine.
const Bash = "bash"

// parts are all of them, in the order of the table.
func (b *bench) parts() []part {
	return []part{
		{name: "iterations", make: b.iterations},
		{name: "age", make: b.long},
		{name: "context", make: b.contexts},
		{name: "briefs", make: b.briefs},
		{name: "calls", make: b.calls},
		{name: "journal", make: b.journal},
		{name: "events", make: b.events},
		{name: "looks", make: b.looks},
		{name: "starts", make: b.starts},
		{name: "isolation", make: b.isolation, needs: box()},
		{name: "pipelines", make: b.pipelines},
		{name: "cycles", make: b.cycles},
		{name: "blocks", make: b.blocks},
		{name: "ceilings", make: b.ceilings},
		{name: "tools", make: b.tools},
		{name: "night", make: b.night},
		{name: "memory", make: b.memory},
		{name: "sessions", make: b.sessions},
		{name: "binaries", make: b.binaries},
		{name: Bash, make: b.besideBash},
	}
}

func names(parts []part) string {
	var all []string
	for _, p := range parts {
		all = append(all, p.name)
	}
	return strings.Join(all, ", ")
}

// pass lets time pass; the error says that ctx ended before.
func pass(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
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

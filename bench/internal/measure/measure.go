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
	// Young, Middle and Old are the compared iterations, each measured in LongRounds rounds with a
	// pause of LongPause before each.
	Young, Middle, Old, LongRounds int
	LongPause                      time.Duration
	// GrowthRounds is the number of rounds of the growth benchmarks; 0 skips them.
	GrowthRounds int
	// Events are the sizes of the sessions for status and resume, smallest first. An agent works
	// for Settle before its kernel is killed, if state.json is too large to be written earlier.
	Events     []EventRounds
	WriteDelay time.Duration
	// ReportIterations is the number of iterations of the session for report and watch, LookRounds the number
	// of rounds.
	ReportIterations, LookRounds int
	// TurnRounds is the number of rounds, Turns the turns of an attempt, Steps the steps of a node.
	TurnRounds, Turns, Steps int
	// Night is the number of turns of the attempt for memory, Evening that of the shorter attempt
	// of comparison.
	Night, Evening int
	// Live is the number of live sessions with a plugin in one engine, Horde that of sessions
	// without one; 0 skips the rows. From a hundred on, their memory exceeds the random difference
	// of processes. Both start CrowdRuns times.
	Live, Horde, CrowdRuns int
	// Branches is the number of providers of a block, with BlockRounds and CeilingRuns.
	Branches, BlockRounds, CeilingRuns int
	// BashRuns is the number of runs of each row beside the Bash engine.
	BashRuns int
}

// Full takes about ten minutes on an idle machine.
func Full() Effort {
	return Effort{
		Rounds: 15, Iterations: 40, CallRounds: 30, Calls: 200, Starts: 30, MemoryRuns: 5, MemoryIterations: 200,
		History: 200, HistoryRuns: 5, FullContext: 40, JournalRounds: 30, BashRuns: 10,
		TurnRounds: 10, Turns: 40, Steps: 20, Night: 500, Evening: 50,
		Young: 10, Middle: 450, Old: 10_000, LongRounds: 30, LongPause: 1100 * time.Millisecond, GrowthRounds: 15,
		Events: []EventRounds{{100, 10}, {10_000, 10}, {1_000_000, 3}}, WriteDelay: 2 * time.Second,
		Live: 100, Horde: 1000, CrowdRuns: 3, Branches: 16, BlockRounds: 10, CeilingRuns: 5,
		ReportIterations: 1000, LookRounds: 10,
	}
}

// Gate is enough for the gate's rows and takes about a minute; again returns the effort of a
// repeated measurement.
func Gate(again bool) Effort {
	e := Effort{
		Rounds: 5, Iterations: 20, CallRounds: 10, Calls: 200, MemoryRuns: 2, MemoryIterations: 100, JournalRounds: 10,
		Young: 10, Middle: 60, Old: 10_000, LongRounds: 10, LongPause: 300 * time.Millisecond,
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
		TurnRounds: 1, Turns: 3, Steps: 2, Night: 6, Evening: 3,
		Young: 1, Middle: 4, Old: 6, LongRounds: 2, GrowthRounds: 1,
		Events: []EventRounds{{10, 1}, {30, 1}}, Live: 2, Horde: 100, CrowdRuns: 1, Branches: 3, BlockRounds: 1, CeilingRuns: 1,
		ReportIterations: 3, LookRounds: 1,
	}
}

// bench holds the data of all measurements.
type bench struct {
	*ground.Ground
	Effort
	Bash *Recorded
}

// All measures all parts and returns the rows in order. It calls progress before each part. Without
// figures of the Bash engine there are no rows to compare with it. only names the parts to measure; empty
// means all.
func All(ctx context.Context, g *ground.Ground, effort Effort, bash *Recorded, only []string, progress func(part string)) ([]table.Row, error) {
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
	for _, p := range parts { // before other parts waste minutes
		if err := p.ready(); err != nil {
			return nil, err
		}
	}
	var rows []table.Row
	for _, p := range parts {
		progress(p.name)
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
	// needs are the programs that must be installed.
	needs []string
}

// ready returns an error if this machine lacks a program of the part.
func (p part) ready() error {
	for _, program := range p.needs {
		if _, err := exec.LookPath(program); err != nil {
			return fmt.Errorf("measure %s: %w; install it, or say with -only what else to measure", p.name, err)
		}
	}
	return nil
}

// Bash is the name of the part beside the Bash engine.
const Bash = "bash"

// parts returns all parts, in the order of the table.
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

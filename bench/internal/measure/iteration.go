package measure

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/dodo-digital/agent-pipelines/bench/internal/floor"
	"github.com/dodo-digital/agent-pipelines/bench/internal/ground"
	"github.com/dodo-digital/agent-pipelines/bench/internal/sample"
	"github.com/dodo-digital/agent-pipelines/bench/internal/table"
)

// iterations compares an iteration with a loop that writes and syncs the same files. It does so twice: with the mock
// plugin in its own process, and with an agent in the engine's process.
func (b *bench) iterations(ctx context.Context) (_ []table.Row, err error) {
	// One iteration is for warming up, and the last one has no successor.
	outside, err := b.Project(ground.Loop("mock", b.Iterations+2))
	if err != nil {
		return nil, err
	}
	within, err := b.Project(ground.Loop("inside", b.Iterations+2))
	if err != nil {
		return nil, err
	}
	server, err := b.StartBare(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, server.Close()) }()

	const sampled = "sampled"
	if err := outside.Run(ctx, sampled); err != nil {
		return nil, err
	}
	if _, err := b.runInside(ctx, within, sampled); err != nil {
		return nil, err
	}
	call := func(request []byte) error { return server.Unary(ctx, request) }
	floorOutside, err := b.newRepetition(outside.Session(sampled), call)
	if err != nil {
		return nil, err
	}
	floorWithin, err := b.newRepetition(within.Session(sampled), nil)
	if err != nil {
		return nil, err
	}
	var computed, floorComputed sample.Series // with the agent in this process
	s, err := sample.InTurn(ctx, b.rounds(15), b.outside(outside), floorOutside.elapsed(nil), b.within(within, &computed), floorWithin.elapsed(&floorComputed))
	if err != nil {
		return nil, err
	}
	const label, peer = "iteration, agent in the engine's process", "loop with the same files, lines and syncs"
	return []table.Row{
		{
			Name: "iteration, mock plugin in its process", Ours: s[0], Each: b.Iterations, Target: "at most 1.5×", Key: "iteration",
			Peer: "loop with the same files, lines, syncs and a bare unary call", Theirs: s[1],
		},
		{Name: label, Ours: s[2], Each: b.Iterations, Peer: peer, Theirs: s[3], Target: "at most 1.5×"},
		{
			Name: label + ", processor time", Ours: computed[1:], Each: b.Iterations, Key: "iteration-cpu", // the first round warms up
			Peer: peer + ", processor time", Theirs: floorComputed[1:],
		},
	}, nil
}

// outside measures the median iteration of a session of the real command.
func (b *bench) outside(p *ground.Project) sample.Subject {
	return func(ctx context.Context) (float64, error) {
		session := p.NewSession()
		if err := p.Run(ctx, session); err != nil {
			return 0, err
		}
		events, err := p.Journal(session)
		if err != nil {
			return 0, err
		}
		return warmMedian(ground.Iterations(events)), nil
	}
}

// within measures the median iteration of a session in this process. It appends the mean processor time of each round
// to computed, because the clock of processor time is too coarse for single iterations.
func (b *bench) within(p *ground.Project, computed *sample.Series) sample.Subject {
	return func(ctx context.Context) (float64, error) {
		v, err := b.runInside(ctx, p, p.NewSession())
		*computed = append(*computed, warmMean(v.computed()))
		return warmMedian(v.iterations()), err
	}
}

// repetition repeats a session in rounds.
type repetition struct {
	trace *floor.Trace
	dir   string
	call  func([]byte) error // nil for none
}

// newRepetition prepares a loop that repeats a session. call is nil for none.
func (b *bench) newRepetition(session string, call func([]byte) error) (*repetition, error) {
	trace, err := floor.Load(session)
	if err != nil {
		return nil, err
	}
	dir, err := b.Dir("floor")
	return &repetition{trace, dir, call}, err
}

// elapsed measures the median iteration of the loop. It appends the mean processor time to computed, unless computed is
// nil.
func (r *repetition) elapsed(computed *sample.Series) sample.Subject {
	n := 0
	return func(context.Context) (float64, error) {
		n++
		elapsedTimes, cpus, err := r.round(filepath.Join(r.dir, fmt.Sprintf("s%d", n)))
		if computed != nil {
			*computed = append(*computed, warmMean(cpus))
		}
		return warmMedian(elapsedTimes), err
	}
}

// round repeats the recorded session once in a directory. It returns the elapsed seconds and the processor seconds of
// each iteration but the last.
func (r *repetition) round(dir string) (elapsedTimes, cpus []float64, err error) {
	loop, err := floor.Start(r.trace, dir)
	if err != nil {
		return nil, nil, err
	}
	defer func() { err = errors.Join(err, loop.Close()) }()
	for range len(r.trace.Iterations) - 1 { // the last iteration also ends the session
		began := now()
		if err := loop.Iterate(r.call); err != nil {
			return nil, nil, err
		}
		ended := now()
		elapsedTimes, cpus = append(elapsedTimes, ended.elapsed.Sub(began.elapsed).Seconds()), append(cpus, (ended.cpu-began.cpu).Seconds())
	}
	return elapsedTimes, cpus, nil
}

// warmMedian returns the median without the first iteration.
func warmMedian(times []float64) float64 {
	if len(times) < 2 {
		return 0 // which no table shows
	}
	return sample.Series(times[1:]).Median()
}

// warmMean returns the mean without the first iteration.
func warmMean(times []float64) float64 {
	if len(times) < 2 {
		return 0
	}
	sum := 0.0
	for _, t := range times[1:] {
		sum += t
	}
	return sum / float64(len(times)-1)
}

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

// iterations compares an iteration with a loop that writes and syncs what the iteration does: once
// with the mock plugin in its process, once with an agent in the engine's own.
func (b *bench) iterations(ctx context.Context) (_ []table.Row, err error) {
	// One iteration more begins before the agent is warm, and one has no successor.
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
	floorOutside, err := b.floorOf(outside.Session(sampled), call)
	if err != nil {
		return nil, err
	}
	floorWithin, err := b.floorOf(within.Session(sampled), nil)
	if err != nil {
		return nil, err
	}
	s, err := sample.InTurn(ctx, b.Rounds, b.outside(outside), floorOutside, b.within(within), floorWithin)
	if err != nil {
		return nil, err
	}
	return []table.Row{
		{
			What: "iteration, mock plugin in its process", Ours: s[0], Each: b.Iterations,
			Peer: "loop with the same files, lines, syncs and a bare unary call", Theirs: s[1],
		},
		{
			What: "iteration, agent in the engine's process", Ours: s[2], Each: b.Iterations,
			Peer: "loop with the same files, lines and syncs", Theirs: s[3],
		},
	}, nil
}

// outside is the median iteration of a session of the real command.
func (b *bench) outside(p *ground.Project) sample.Subject {
	n := 0
	return func(ctx context.Context) (float64, error) {
		n++
		session := fmt.Sprintf("s%d", n)
		if err := p.Run(ctx, session); err != nil {
			return 0, err
		}
		events, err := p.Journal(session)
		if err != nil {
			return 0, err
		}
		return warm(ground.Iterations(events)), nil
	}
}

// within is the median iteration of a session in this process.
func (b *bench) within(p *ground.Project) sample.Subject {
	n := 0
	return func(ctx context.Context) (float64, error) {
		n++
		v, err := b.runInside(ctx, p, fmt.Sprintf("s%d", n))
		return warm(v.iterations()), err
	}
}

// floorOf is the median iteration of a loop that repeats a session. call is nil for none.
func (b *bench) floorOf(session string, call func([]byte) error) (sample.Subject, error) {
	trace, err := floor.Load(session)
	if err != nil {
		return nil, err
	}
	dir, err := b.Dir("floor")
	if err != nil {
		return nil, err
	}
	n := 0
	return func(context.Context) (_ float64, err error) {
		n++
		r, err := floor.Start(trace, filepath.Join(dir, fmt.Sprintf("s%d", n)))
		if err != nil {
			return 0, err
		}
		defer func() { err = errors.Join(err, r.Close()) }()
		times := make([]float64, len(trace.Iterations)-1) // the last one ends the session as well
		for i := range times {
			if times[i], err = timed(func() error { return r.Iterate(call) }); err != nil {
				return 0, err
			}
		}
		return warm(times), nil
	}, nil
}

// warm is the median without the first iteration.
func warm(times []float64) float64 {
	if len(times) < 2 {
		return 0 // which no table shows
	}
	return sample.Series(times[1:]).Median()
}

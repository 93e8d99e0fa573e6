package measure

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"time"

	"github.com/dodo-digital/agent-pipelines/bench/internal/floor"
	"github.com/dodo-digital/agent-pipelines/bench/internal/ground"
	"github.com/dodo-digital/agent-pipelines/bench/internal/sample"
	"github.com/dodo-digital/agent-pipelines/bench/internal/table"
	"github.com/dodo-digital/agent-pipelines/kernel/event"
)

// blockWork is the agents' working time in the comparison of a block with many providers and with
// one.
const blockWork = 250 * time.Millisecond

// blocks measures a parallel block of many providers: with working agents, beside a block of one
// provider, and with instant agents, beside as many loops that write and sync the files of one
// iteration.
func (b *bench) blocks(ctx context.Context) ([]table.Row, error) {
	many, err := b.Project(ground.Block("inside", b.Branches))
	if err != nil {
		return nil, err
	}
	one, err := b.Project(ground.Block("inside", 1))
	if err != nil {
		return nil, err
	}
	loops, err := b.sideBySide(ctx)
	if err != nil {
		return nil, err
	}
	s, err := sample.InTurn(ctx, b.BlockRounds, b.block(many, blockWork, "works"), b.block(one, blockWork, "works"), b.block(many, 0, "instant"), loops)
	if err != nil {
		return nil, err
	}
	label := fmt.Sprintf("a block of %d providers", b.Branches)
	return []table.Row{
		{Name: fmt.Sprintf("%s whose agents work for %s", label, blockWork), Ours: s[0], Peer: "the same of one provider", Theirs: s[1], Key: "block"},
		{
			Name: label + " whose agents take no time", Ours: s[2],
			Peer: fmt.Sprintf("%d loops side by side, each with the files, lines and syncs of an iteration", b.Branches), Theirs: s[3],
		},
	}, nil
}

// block measures the time from the start of a block to its end, by the journal.
func (b *bench) block(p *ground.Project, works time.Duration, name string) sample.Subject {
	n := 0
	return func(ctx context.Context) (float64, error) {
		n++
		session := fmt.Sprintf("%s%d", name, n)
		if _, err := b.runWith(ctx, p, session, &localAgent{works: works}); err != nil {
			return 0, err
		}
		events, err := p.Journal(session)
		if err != nil {
			return 0, err
		}
		var began time.Time
		for _, e := range events {
			switch e.Type {
			case event.NodeStart:
				began = e.Time
			case event.NodeComplete:
				return e.Time.Sub(began).Seconds(), nil
			default:
			}
		}
		return 0, fmt.Errorf("session %s has no complete block", session)
	}
}

// sideBySide measures concurrent repetitions of a session of one iteration, one per provider of the
// block.
func (b *bench) sideBySide(ctx context.Context) (sample.Subject, error) {
	p, err := b.Project(ground.Loop("inside", 2)) // the first iteration is repeated
	if err != nil {
		return nil, err
	}
	const sampled = "sampled"
	if _, err := b.runInside(ctx, p, sampled); err != nil {
		return nil, err
	}
	r, err := b.newRepetition(p.Session(sampled), nil)
	if err != nil {
		return nil, err
	}
	n := 0
	return func(context.Context) (float64, error) {
		n++
		errs := make([]error, b.Branches)
		began := time.Now()
		var running sync.WaitGroup
		for i := range errs {
			running.Go(func() { errs[i] = r.once(filepath.Join(r.dir, fmt.Sprintf("s%d-%d", n, i))) })
		}
		running.Wait()
		return time.Since(began).Seconds(), errors.Join(errs...)
	}, nil
}

// once repeats the session's first iteration in a directory.
func (r *repetition) once(dir string) (err error) {
	loop, err := floor.Start(r.trace, dir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, loop.Close()) }()
	return loop.Iterate(r.call)
}

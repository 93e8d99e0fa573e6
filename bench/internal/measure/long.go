package measure

import (
	"context"
	"errors"
	"fmt"
	"syscall"

	"github.com/dodo-digital/agent-pipelines/bench/internal/ground"
	"github.com/dodo-digital/agent-pipelines/bench/internal/sample"
	"github.com/dodo-digital/agent-pipelines/bench/internal/table"
)

// long compares the iterations of a session that has made very many with those of one that has just
// begun. The two take turns: while one goes on, the other's kernel is stopped.
func (b *bench) long(ctx context.Context) (_ []table.Row, err error) {
	end := b.LongStart + (b.LongRounds+1)*b.LongIterations + 2
	old, err := b.begin(ctx, "old", end)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, old.close()) }()
	if err := old.until(b.LongStart); err != nil {
		return nil, err
	}
	young, err := b.begin(ctx, "young", end)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, young.close()) }()
	if err := young.until(1); err != nil {
		return nil, err
	}
	for range b.LongRounds {
		for _, s := range []*sleeper{old, young} {
			if err := s.goOn(b.LongIterations); err != nil {
				return nil, err
			}
		}
	}
	ours, err := old.medians()
	if err != nil {
		return nil, err
	}
	theirs, err := young.medians()
	if err != nil {
		return nil, err
	}
	spanned := b.LongRounds * b.LongIterations
	return []table.Row{{
		What: fmt.Sprintf("iterations %d to %d of a session", b.LongStart, b.LongStart+spanned), Ours: ours, Each: b.LongIterations - margin,
		Peer: fmt.Sprintf("iterations 1 to %d of another", 1+spanned), Theirs: theirs,
	}}, nil
}

// sleeper is a session of the real command that is stopped most of the time.
type sleeper struct {
	project *ground.Project
	session string
	run     *ground.Run
	watch   *ground.Watch
	at      int      // the iteration in which it was stopped
	turns   [][2]int // the iterations in which a turn began and ended
}

// margin is how many iterations of a turn do not count: the last one, in which the kernel was stopped,
// and the first, into which it may have come before that.
const margin = 2

func (b *bench) begin(ctx context.Context, session string, runs int) (*sleeper, error) {
	p, err := b.Project(ground.Loop("mock", runs))
	if err != nil {
		return nil, err
	}
	w, err := b.Watch(0)
	if err != nil {
		return nil, err
	}
	r, err := p.Start(ctx, session, w.Environment...)
	if err != nil {
		return nil, errors.Join(err, w.Close())
	}
	return &sleeper{project: p, session: session, run: r, watch: w}, nil
}

// until lets the session run up to an iteration.
func (s *sleeper) until(iteration int) error {
	call, err := s.watch.Until(iteration)
	if err != nil {
		return err
	}
	s.at = call.Iteration
	return syscall.Kill(s.run.PID, syscall.SIGSTOP)
}

// goOn is a turn of so many iterations.
func (s *sleeper) goOn(iterations int) error {
	from := s.at
	if err := syscall.Kill(s.run.PID, syscall.SIGCONT); err != nil {
		return err
	}
	if err := s.until(from + iterations); err != nil {
		return err
	}
	s.turns = append(s.turns, [2]int{from, s.at})
	return nil
}

// medians are the median iterations of the turns, in seconds, by the journal.
func (s *sleeper) medians() (sample.Series, error) {
	events, err := s.project.Journal(s.session)
	if err != nil {
		return nil, err
	}
	times := sample.Series(ground.Iterations(events))
	var medians sample.Series
	for _, turn := range s.turns {
		medians = append(medians, times[turn[0]+1:turn[1]-1].Median()) // the time of iteration i is times[i-1]
	}
	return medians, nil
}

func (s *sleeper) close() error {
	s.run.Kill()
	return s.watch.Close()
}

package measure

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/dodo-digital/agent-pipelines/bench/internal/sample"
	"github.com/dodo-digital/agent-pipelines/bench/internal/table"
)

// aged is a session at some age, and what was measured of its iterations.
type aged struct {
	*paced
	wall, cpu sample.Series // seconds, one for each round
}

// long compares iterations of sessions that have made very many with those of one that has just begun: for agents
// that say nothing, so that there is no list of earlier outputs, and for such that do. All sessions wait while one of
// them makes an iteration; before each round all wait for a while, as they do for real agents.
func (b *bench) long(ctx context.Context) (_ []table.Row, err error) {
	silent, err := b.atAges(ctx, "", b.Young, b.Middle, b.Old, b.Young)
	defer silent.close()
	if err != nil {
		return nil, err
	}
	talking, err := b.atAges(ctx, "Did it.\n", b.Young, b.Old)
	defer talking.close()
	if err != nil {
		return nil, err
	}
	warm, err := b.atAges(ctx, "", 1)
	defer warm.close()
	if err != nil {
		return nil, err
	}
	all := slices.Concat(silent, talking)
	for round := range b.LongRounds {
		select {
		case <-time.After(b.LongPause):
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
		if _, _, err := warm[0].iterate(); err != nil { // whoever comes first after the pause is slower
			return nil, err
		}
		all = append(all[1:], all[0]) // so that each comes at each place of a round
		for _, s := range all {
			if err := s.measure(); err != nil {
				return nil, fmt.Errorf("round %d: %w", round, err)
			}
		}
	}
	return b.ofAges(ctx, silent, talking)
}

// ofAges are the rows about sessions that say nothing, of three ages and a second one of the first, and of such that
// talk, of two ages.
func (b *bench) ofAges(ctx context.Context, silent, talking sessions) ([]table.Row, error) {
	later, err := b.history(ctx)
	if err != nil {
		return nil, err
	}
	list, err := b.list(ctx)
	if err != nil {
		return nil, err
	}
	young, middle, old, control := silent[0], silent[1], silent[2], silent[3]
	row := func(how string, s *aged, ours sample.Series, peer *aged, theirs sample.Series) table.Row {
		return table.Row{
			What: fmt.Sprintf("kernel's work for iteration %d, %s", s.from, how), Ours: ours,
			Peer: fmt.Sprintf("for iteration %d of another session", peer.from), Theirs: theirs,
		}
	}
	return []table.Row{
		row("without the list, processor time in all (budget 1.2×)", old, plus(old.cpu, later), young, young.cpu),
		row("without the list, processor time until its agent is called", old, old.cpu, young, young.cpu),
		row("without the list, by the clock", old, old.wall, young, young.wall),
		row("without the list, processor time until its agent is called", middle, middle.cpu, young, young.cpu),
		row("without the list, processor time until its agent is called (a control: the same age)", control, control.cpu, young, young.cpu),
		row("with the list, processor time until its agent is called", talking[1], talking[1].cpu, talking[0], talking[0].cpu),
		row("with the list, by the clock", talking[1], talking[1].wall, talking[0], talking[0].wall),
		{
			What: "state.json with 1,000 iterations, processor time of a write while the agent works", Ours: later, Each: 21,
			Peer: fmt.Sprintf("kernel's work for iteration %d, processor time", young.from), Theirs: young.cpu,
		},
		{
			What: "list of 1,000 earlier outputs in context.json", Ours: list, Each: 51,
			Peer: "budget", Theirs: sample.Constant(listBudget, len(list)),
		},
	}, nil
}

// plus adds two series round by round.
func plus(a, b sample.Series) sample.Series {
	sum := slices.Clone(a)
	for i := range sum {
		sum[i] += b[i]
	}
	return sum
}

// sessions wait.
type sessions []*aged

func (s sessions) close() {
	for _, one := range s {
		one.close()
	}
}

// atAges starts sessions that wait at these iterations.
func (b *bench) atAges(ctx context.Context, says string, ages ...int) (sessions, error) {
	var all sessions
	for _, age := range ages {
		s, err := b.pace(ctx, age, age+b.LongRounds+1, says)
		if err != nil {
			return all, err
		}
		all = append(all, &aged{paced: s})
	}
	return all, nil
}

// measure lets one iteration pass.
func (s *aged) measure() error {
	wall, cpu, err := s.iterate()
	s.wall, s.cpu = append(s.wall, wall), append(s.cpu, cpu)
	return err
}

// list is what a list of 1,000 earlier outputs adds to an iteration's context.json, in seconds. A private room writes
// it, so a benchmark of that room measures, once for each round.
func (b *bench) list(ctx context.Context) (sample.Series, error) {
	metrics, err := b.roomBenchmark(ctx, "./kernel/internal/inputs", "^BenchmarkList$", b.LongRounds)
	return nanoseconds(metrics["list-ns"]), err
}

// history is what is computed for a write of state.json after 1,000 iterations, in seconds. A file of that size is
// not written in the way of an iteration, so no session's work shows it.
func (b *bench) history(ctx context.Context) (sample.Series, error) {
	metrics, err := b.roomBenchmark(ctx, "./kernel/internal/view", "^BenchmarkHistory$", b.LongRounds)
	return nanoseconds(metrics["cpu-ns"]), err
}

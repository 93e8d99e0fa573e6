package measure

import (
	"context"
	"fmt"
	"slices"

	"github.com/dodo-digital/agent-pipelines/bench/internal/sample"
	"github.com/dodo-digital/agent-pipelines/bench/internal/table"
)

// long compares the iterations of a very long session with those of a new one. Their agents write no output, so the
// list of earlier outputs stays empty.
//
// A session waits while another one runs an iteration. Before each round all sessions wait for LongPause, as they wait
// for real agents.
func (b *bench) long(ctx context.Context) (_ []table.Row, err error) {
	rounds := b.rounds(30)
	young, err := b.pace(ctx, b.Young, b.Young+rounds+1)
	if err != nil {
		return nil, err
	}
	defer young.close()
	old, err := b.pacePast(ctx, b.Old, b.Old+rounds+1)
	if err != nil {
		return nil, err
	}
	defer old.close()
	warm, err := b.pace(ctx, 1, rounds+2)
	if err != nil {
		return nil, err
	}
	defer warm.close()
	all := []*steppedSession{young, old}
	for round := range rounds {
		if err := pass(ctx, b.LongPause); err != nil {
			return nil, err
		}
		if err := warm.measure(); err != nil { // the first iteration after the pause is slower
			return nil, err
		}
		slices.Reverse(all)
		for _, s := range all {
			if err := s.measure(); err != nil {
				return nil, fmt.Errorf("round %d: %w", round, err)
			}
		}
	}
	return b.ageRows(ctx, young, old)
}

// ageRows returns the rows about a young and an old session.
func (b *bench) ageRows(ctx context.Context, young, old *steppedSession) ([]table.Row, error) {
	row := func(how string, ours, theirs sample.Series) table.Row {
		return table.Row{
			Name: fmt.Sprintf("kernel's work for iteration %d%s", old.from, how), Ours: ours,
			Peer: fmt.Sprintf("for iteration %d of another session", young.from), Theirs: theirs, Target: flatTarget,
		}
	}
	rows := []table.Row{
		row(", without the list, processor time until its agent is called", old.cpu, young.cpu),
		row(", without the list, by the clock", old.elapsed, young.elapsed),
	}
	rows[0].Key = "age"
	if !b.Growth {
		return rows, nil
	}
	write, err := b.packageBenchmark(ctx, "./engine/internal/statefile", "^BenchmarkHistory$/^10000$", b.rounds(15))
	if err != nil {
		return nil, err
	}
	list, err := b.packageBenchmark(ctx, "./engine/internal/inputs", "^BenchmarkList$", b.rounds(15))
	if err != nil {
		return nil, err
	}
	listed := nanoseconds(list["list-ns"])
	return append(rows,
		row(" and a write of state.json with 10000, processor time", old.cpu.Plus(nanoseconds(write["cpu-ns"]).Median()), young.cpu),
		table.Row{
			Name: "list of 1,000 earlier outputs in context.json", Ours: listed, Each: 51,
			Peer: "target", Theirs: sample.Constant(listBudget, len(listed)),
		}), nil
}

// flatTarget is the allowed cost of an iteration relative to an early one, without the list of
// earlier outputs.
const flatTarget = "at most 1.2×"

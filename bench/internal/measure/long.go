package measure

import (
	"context"
	"fmt"
	"slices"

	"github.com/dodo-digital/agent-pipelines/bench/internal/sample"
	"github.com/dodo-digital/agent-pipelines/bench/internal/table"
)

// agedSession is a session at some iteration, with the measurements of its iterations.
type agedSession struct {
	*steppedSession
	elapsed, cpu sample.Series // seconds, one per round
}

// long compares iterations of very long sessions with those of a new one, for silent agents, which
// add nothing to the list of earlier outputs, and for talking ones.
//
// All sessions wait while one runs an iteration. Before each round all wait for a while, as they do
// for real agents.
func (b *bench) long(ctx context.Context) (_ []table.Row, err error) {
	silent, err := b.atAges(ctx, "", produced(b.Young), produced(b.Middle), inContext(b.Old), produced(b.Young), inContext(b.Middle))
	defer silent.close()
	if err != nil {
		return nil, err
	}
	talking, err := b.atAges(ctx, "Did it.\n", produced(b.Young), inContext(b.Old))
	defer talking.close()
	if err != nil {
		return nil, err
	}
	warm, err := b.atAges(ctx, "", produced(1))
	defer warm.close()
	if err != nil {
		return nil, err
	}
	all := slices.Concat(silent, talking)
	for round := range b.LongRounds {
		if err := pass(ctx, b.LongPause); err != nil {
			return nil, err
		}
		if _, _, err := warm[0].iterate(); err != nil { // the first iteration after the pause is slower
			return nil, err
		}
		all = append(all[1:], all[0]) // rotates the order of each round
		for _, s := range all {
			if err := s.measure(); err != nil {
				return nil, fmt.Errorf("round %d: %w", round, err)
			}
		}
	}
	return b.ageRows(ctx, silent, talking)
}

// ageRows returns the rows about silent sessions of three ages with two controls, and about talking
// ones of two ages.
func (b *bench) ageRows(ctx context.Context, silent, talking sessions) ([]table.Row, error) {
	young, middle, old, control, givenMiddle := silent[0], silent[1], silent[2], silent[3], silent[4]
	row := func(how string, s *agedSession, ours sample.Series, peer *agedSession, theirs sample.Series) table.Row {
		return table.Row{
			Name: fmt.Sprintf("kernel's work for iteration %d, %s", s.from, how), Ours: ours,
			Peer: fmt.Sprintf("for iteration %d of another session", peer.from), Theirs: theirs,
		}
	}
	const computed = "without the list, processor time until its agent is called"
	rows := []table.Row{
		row(computed, old, old.cpu, young, young.cpu),
		row("without the list, by the clock", old, old.elapsed, young, young.elapsed),
		row(computed, middle, middle.cpu, young, young.cpu),
		row(computed+" (a control: the same age)", control, control.cpu, young, young.cpu),
		row(computed+" (a control: the same age, without having made the earlier ones)", givenMiddle, givenMiddle.cpu, middle, middle.cpu),
		row("with the list, processor time until its agent is called", talking[1], talking[1].cpu, talking[0], talking[0].cpu),
		row("with the list, by the clock", talking[1], talking[1].elapsed, talking[0], talking[0].elapsed),
	}
	rows[0].Target, rows[0].Key = flatTarget, "age"
	rows[1].Target = flatTarget
	if b.GrowthRounds == 0 {
		return rows, nil
	}
	growth, err := b.growth(ctx, young, old)
	return append(rows, growth...), err
}

// flatTarget is the allowed cost of an iteration relative to an early one, without the list of
// earlier outputs.
const flatTarget = "at most 1.2×"

// growth measures the costs that grow with the number of iterations, by benchmarks of the packages
// that cause them.
func (b *bench) growth(ctx context.Context, young, old *agedSession) ([]table.Row, error) {
	var rows []table.Row
	var write float64 // of the largest state.json
	for _, iterations := range []string{"1000", "10000"} {
		computed, err := b.history(ctx, iterations)
		if err != nil {
			return nil, err
		}
		write = computed.Median()
		rows = append(rows, table.Row{
			Name: fmt.Sprintf("state.json with %s iterations, processor time of a write while the agent works", iterations), Ours: computed, Each: 21,
			Peer: fmt.Sprintf("kernel's work for iteration %d, processor time", young.from), Theirs: sample.Constant(young.cpu.Median(), len(computed)),
		})
	}
	list, err := b.list(ctx)
	return append(rows, table.Row{
		Name: fmt.Sprintf("kernel's work for iteration %d and a write of state.json with 10000, processor time", old.from), Ours: old.cpu.Plus(write),
		Peer: fmt.Sprintf("for iteration %d of another session", young.from), Theirs: young.cpu, Target: flatTarget,
	}, table.Row{
		Name: "list of 1,000 earlier outputs in context.json", Ours: list, Each: 51,
		Peer: "target", Theirs: sample.Constant(listBudget, len(list)),
	}), err
}

// sessions are waiting sessions.
type sessions []*agedSession

func (s sessions) close() {
	for _, one := range s {
		one.close()
	}
}

// age is the iteration at which a session waits, and whether it ran the earlier ones or got them
// from [past.Give].
type age struct {
	at        int
	inContext bool
}

func produced(at int) age  { return age{at, false} }
func inContext(at int) age { return age{at, true} }

// atAges starts sessions that wait at these iterations.
func (b *bench) atAges(ctx context.Context, says string, ages ...age) (sessions, error) {
	var all sessions
	for _, a := range ages {
		pace := b.pace
		if a.inContext {
			pace = b.pacePast
		}
		s, err := pace(ctx, a.at, a.at+b.LongRounds+1, says)
		if err != nil {
			return all, err
		}
		all = append(all, &agedSession{steppedSession: s})
	}
	return all, nil
}

// measure runs one iteration.
func (s *agedSession) measure() error {
	elapsed, cpu, err := s.iterate()
	s.elapsed, s.cpu = append(s.elapsed, elapsed), append(s.cpu, cpu)
	return err
}

// list measures the time that a list of 1,000 earlier outputs adds to context.json, in seconds. A
// benchmark of the private package runs once per round.
func (b *bench) list(ctx context.Context) (sample.Series, error) {
	metrics, err := b.packageBenchmark(ctx, "./engine/internal/inputs", "^BenchmarkList$", b.GrowthRounds)
	return nanoseconds(metrics["list-ns"]), err
}

// history measures the processor time of writing state.json after a number of iterations, in
// seconds. The engine writes such a file outside of iterations, so that no session shows it.
func (b *bench) history(ctx context.Context, iterations string) (sample.Series, error) {
	metrics, err := b.packageBenchmark(ctx, "./engine/internal/statefile", "^BenchmarkHistory$/^"+iterations+"$", b.GrowthRounds)
	return nanoseconds(metrics["cpu-ns"]), err
}

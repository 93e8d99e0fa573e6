package measure

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/dodo-digital/agent-pipelines/bench/internal/ground"
	"github.com/dodo-digital/agent-pipelines/bench/internal/sample"
	"github.com/dodo-digital/agent-pipelines/bench/internal/table"
)

// Parity describes the work on both sides of the rows beside the Bash engine.
func (r *Recorded) Parity() string {
	return fmt.Sprintf(`Beside the Bash engine: its figures were recorded once, on another day, and are constants here, so their ratios count in their size
only. Both engines run the same pipelines in mock mode, without delays, in the foreground, and leave a session's files. For that, ours starts a plugin
process and, in each iteration, has 3 commits of the journal and 2 files on the disk before it continues; theirs starts %d programs for an iteration and
syncs nothing. Neither calls a model: with a real agent, minutes come to both sides. The row of the resume has on our side all of it up to the
agent's call, on theirs only the replay of the events.
`, r.Iteration.Programs)
}

// besideBash compares our runs with those of the Bash engine. Without its figures there are no
// rows.
func (b *bench) besideBash(ctx context.Context) ([]table.Row, error) {
	if b.Bash == nil {
		return nil, nil
	}
	var rows []table.Row
	for _, part := range []func(context.Context) ([]table.Row, error){b.bashIteration, b.bashRuns, b.bashStarts, b.bashStatus, b.bashResume} {
		more, err := part(ctx)
		if err != nil {
			return nil, err
		}
		rows = append(rows, more...)
	}
	return rows, nil
}

func recordedRow(label string, ours sample.Series, how string, theirs float64) table.Row {
	return table.Row{Name: label, Ours: ours, Peer: "the Bash engine, recorded" + how, Theirs: sample.Constant(theirs, len(ours))}
}

// oneSeries measures one subject repeatedly.
func (b *bench) oneSeries(ctx context.Context, subject func(ctx context.Context, n int) (float64, error)) (sample.Series, error) {
	n := 0
	all, err := sample.InTurn(ctx, b.BashRuns, func(ctx context.Context) (float64, error) {
		n++
		return subject(ctx, n)
	})
	if err != nil {
		return nil, err
	}
	return all[0], nil
}

// bashIteration measures the mean iteration of a loop, from the start of the first to that of the
// last.
func (b *bench) bashIteration(ctx context.Context) ([]table.Row, error) {
	p, err := b.Project(ground.Loop("mock", bashLong))
	if err != nil {
		return nil, err
	}
	means, err := b.oneSeries(ctx, func(ctx context.Context, n int) (float64, error) {
		session := fmt.Sprintf("s%d", n)
		if err := p.Run(ctx, session); err != nil {
			return 0, err
		}
		events, err := p.Journal(session)
		if err != nil {
			return 0, err
		}
		sum := 0.0
		times := ground.Iterations(events)
		for _, t := range times {
			sum += t
		}
		return sum / float64(len(times)), nil
	})
	if err != nil {
		return nil, err
	}
	row := recordedRow(fmt.Sprintf("an iteration, mean of a loop of %d", bashLong), means, fmt.Sprintf(" (%d programs started)", b.Bash.Iteration.Programs), b.Bash.Iteration.Wall)
	row.Each, row.Target = bashLong-1, "at most 0.01×"
	return []table.Row{row}, nil
}

// bashRuns measures whole runs.
func (b *bench) bashRuns(ctx context.Context) ([]table.Row, error) {
	var rows []table.Row
	for _, run := range []struct {
		label, pipeline string
		theirs          Seconds
	}{
		{fmt.Sprintf("a loop of %d iterations, command's start to end", bashLoop), ground.Loop("mock", bashLoop), b.Bash.Loop[bashLoop]},
		{"a pipeline of 3 stages, command's start to end", ground.Stages("mock", 3), b.Bash.Pipeline},
		{"a block of 2 providers, command's start to end", ground.Block("mock", 2), b.Bash.Block},
	} {
		p, err := b.Project(run.pipeline)
		if err != nil {
			return nil, err
		}
		var computed sample.Series
		ours, err := b.oneSeries(ctx, func(ctx context.Context, n int) (float64, error) {
			r, err := p.Start(ctx, fmt.Sprintf("s%d", n))
			if err != nil {
				return 0, err
			}
			err = r.Wait()
			took := time.Since(r.Started).Seconds()
			if n > 1 { // the first run warms up
				computed = append(computed, r.CPU())
			}
			return took, err
		})
		if err != nil {
			return nil, err
		}
		rows = append(rows, recordedRow(run.label, ours, "", run.theirs.Wall))
		if run.theirs.CPU > 0 {
			rows = append(rows, recordedRow(run.label+", processor time of all processes", computed, "", run.theirs.CPU))
		}
	}
	return rows, nil
}

// bashStarts measures the time from the start of the command to the first call of the agent.
func (b *bench) bashStarts(ctx context.Context) (_ []table.Row, err error) {
	w, err := b.Watch(0)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, w.Close()) }()
	var rows []table.Row
	for _, run := range []struct {
		label, pipeline string
		theirs          float64
		calls           int
	}{
		{"a loop's", ground.Loop("mock", 1), b.Bash.First.Loop, 1},
		{"a pipeline's (3 stages)", ground.Stages("mock", 3), b.Bash.First.Pipeline, 3},
	} {
		p, err := b.Project(run.pipeline)
		if err != nil {
			return nil, err
		}
		ours, err := b.oneSeries(ctx, func(ctx context.Context, n int) (float64, error) {
			first, err := b.firstCall(ctx, p, w, fmt.Sprintf("s%d", n))
			for range run.calls - 1 {
				_, more := w.Next()
				err = errors.Join(err, more)
			}
			return first, err
		})
		if err != nil {
			return nil, err
		}
		rows = append(rows, recordedRow("start of "+run.label+" command to the agent's first call", ours, "", run.theirs))
	}
	return rows, nil
}

// bashStatus measures the status command.
func (b *bench) bashStatus(ctx context.Context) ([]table.Row, error) {
	p, err := b.Project(ground.Loop("mock", bashLong))
	if err != nil {
		return nil, err
	}
	const session = "done"
	if err := p.Run(ctx, session); err != nil {
		return nil, err
	}
	ours, err := b.oneSeries(ctx, func(ctx context.Context, _ int) (float64, error) {
		took, err := p.Status(ctx, session)
		return took.Seconds, err
	})
	if err != nil {
		return nil, err
	}
	events, err := p.Journal(session)
	if err != nil {
		return nil, err
	}
	label := fmt.Sprintf("status of a loop of %d iterations, %d events", bashLong, len(events))
	return []table.Row{recordedRow(label, ours, ", 54 events", b.Bash.Status)}, nil
}

// bashResume measures the time from the start of a resume to the call of the agent, after the
// kernel was killed during work.
func (b *bench) bashResume(ctx context.Context) (_ []table.Row, err error) {
	const cutOff = bashLong + 1
	p, err := b.Project(ground.Loop("mock", cutOff))
	if err != nil {
		return nil, err
	}
	hanging, err := b.Watch(cutOff)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, hanging.Close()) }()
	going, err := b.Watch(0)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, going.Close()) }()
	ours, err := b.oneSeries(ctx, func(ctx context.Context, n int) (float64, error) {
		session := fmt.Sprintf("s%d", n)
		killed, err := p.Start(ctx, session, hanging.Environment...)
		if err != nil {
			return 0, err
		}
		_, err = hanging.Until(cutOff)
		killed.Kill()
		if err != nil {
			return 0, err
		}
		r, err := p.Resume(ctx, session, going.Environment...)
		if err != nil {
			return 0, err
		}
		return untilCall(r, going)
	})
	if err != nil {
		return nil, err
	}
	label := fmt.Sprintf("resume of a loop killed in iteration %d, command's start to the agent's call", cutOff)
	how := fmt.Sprintf(", replay of the %d events alone", bashEvents)
	return []table.Row{recordedRow(label, ours, how, bashEvents*b.Bash.Replay)}, nil
}

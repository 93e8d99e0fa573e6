package measure

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/dodo-digital/agent-pipelines/bench/internal/cost"
	"github.com/dodo-digital/agent-pipelines/bench/internal/ground"
	"github.com/dodo-digital/agent-pipelines/bench/internal/sample"
	"github.com/dodo-digital/agent-pipelines/bench/internal/table"
)

// lookTarget is the acceptable waiting time of a user, in seconds.
const lookTarget = 1

const lookedAt = "looked"

// looks measures the waiting time of a user who opens a session of many iterations: until its
// report is written, and until watch shows all of it.
func (b *bench) looks(ctx context.Context) ([]table.Row, error) {
	p, err := b.Project(ground.Loop("mock", b.ReportIterations))
	if err != nil {
		return nil, err
	}
	if err := p.Run(ctx, lookedAt); err != nil {
		return nil, err
	}
	seconds := func(run func() (cost.Cost, error)) (float64, error) {
		took, err := run()
		return took.Seconds, err
	}
	read := func(ctx context.Context) (float64, error) {
		return seconds(func() (cost.Cost, error) {
			return b.ReadLines(ctx, filepath.Join(p.Session(lookedAt), "events.jsonl"))
		})
	}
	report := func(ctx context.Context) (float64, error) {
		return seconds(func() (cost.Cost, error) { return p.Report(ctx, lookedAt) })
	}
	screen := func(ctx context.Context) (float64, error) {
		return p.Screen(ctx, lookedAt, fmt.Sprintf("Completed %d iterations", b.ReportIterations))
	}
	subjects, names := []sample.Subject{read, report}, []string{"report of a session of %d iterations"}
	if _, err := screen(ctx); err == nil {
		subjects, names = append(subjects, screen), append(names, "watch, command's start until all of a session of %d iterations is on the screen")
	} else if !errors.Is(err, errors.ErrUnsupported) {
		return nil, err
	}
	took, err := sample.InTurn(ctx, b.LookRounds, subjects...)
	if err != nil {
		return nil, err
	}
	var rows []table.Row
	for i, name := range names {
		label, ours := fmt.Sprintf(name, b.ReportIterations), took[i+1]
		rows = append(rows,
			table.Row{Name: label, Ours: ours, Peer: "a program that reads its journal line by line", Theirs: took[0]},
			table.Row{Name: label, Ours: ours, Peer: "target", Theirs: sample.Constant(lookTarget, len(ours))})
	}
	return rows, nil
}

package measure

import (
	"context"
	"fmt"
	"time"

	"github.com/dodo-digital/agent-pipelines/bench/internal/ground"
	"github.com/dodo-digital/agent-pipelines/bench/internal/sample"
	"github.com/dodo-digital/agent-pipelines/bench/internal/table"
	"github.com/dodo-digital/agent-pipelines/kernel/event"
)

// pipelines measures a pipeline of three stages with instant agents: the time from the start of the command to its end,
// and the time between two stages.
func (b *bench) pipelines(ctx context.Context) ([]table.Row, error) {
	const stages = 3
	p, err := b.Project(ground.Stages("mock", stages))
	if err != nil {
		return nil, err
	}
	var transitions sample.Series
	whole := func(ctx context.Context) (float64, error) {
		session := p.NewSession()
		took, err := duration(func() error { return p.Run(ctx, session) })
		if err != nil {
			return 0, err
		}
		events, err := p.Journal(session)
		if err != nil {
			return 0, err
		}
		between := changes(events)
		if len(between) != stages-1 {
			return 0, fmt.Errorf("session %s changed its stage %d times", session, len(between))
		}
		transitions = append(transitions, sample.Series(between).Median())
		return took, nil
	}
	s, err := sample.InTurn(ctx, b.rounds(30), whole)
	if err != nil {
		return nil, err
	}
	transitions = transitions[1:] // the first run warms up
	return []table.Row{
		{
			Name: fmt.Sprintf("a whole pipeline of %d stages, command's start to end (U109)", stages), Ours: s[0],
			Peer: "target", Theirs: sample.Constant(pipelineTarget, len(s[0])), Key: "pipeline",
		},
		{
			Name: "from one stage's last result to the next one's start (U056)", Ours: transitions, Each: stages - 1,
			Peer: "target", Theirs: sample.Constant(transitionTarget, len(transitions)),
		},
	}, nil
}

// changes returns the seconds from the end of each iteration to the start of the next. Each stage has one iteration.
func changes(events []event.Event) []float64 {
	var times []float64
	var ended time.Time
	for _, e := range events {
		switch e.Type {
		case event.IterationComplete:
			ended = e.Time
		case event.IterationStart:
			if !ended.IsZero() {
				times = append(times, e.Time.Sub(ended).Seconds())
			}
		default:
		}
	}
	return times
}

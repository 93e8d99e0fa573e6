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

// blockWork is the duration of a call of an agent.
const blockWork = 250 * time.Millisecond

// blocks compares a parallel block of many providers with a block of one provider.
func (b *bench) blocks(ctx context.Context) ([]table.Row, error) {
	many, err := b.Project(ground.Block("inside", b.Branches))
	if err != nil {
		return nil, err
	}
	one, err := b.Project(ground.Block("inside", 1))
	if err != nil {
		return nil, err
	}
	s, err := sample.InTurn(ctx, b.rounds(10), b.block(many), b.block(one))
	if err != nil {
		return nil, err
	}
	return []table.Row{{
		Name: fmt.Sprintf("a block of %d providers whose agents work for %s", b.Branches, blockWork), Ours: s[0],
		Peer: "the same of one provider", Theirs: s[1], Key: "block",
	}}, nil
}

// block measures the time from the start of a block to its end, by the journal.
func (b *bench) block(p *ground.Project) sample.Subject {
	return func(ctx context.Context) (float64, error) {
		session := p.NewSession()
		if _, err := b.runWith(ctx, p, session, &localAgent{works: blockWork}); err != nil {
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

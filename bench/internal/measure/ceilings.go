package measure

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync/atomic"

	"github.com/dodo-digital/agent-pipelines/bench/internal/ground"
	"github.com/dodo-digital/agent-pipelines/bench/internal/sample"
	"github.com/dodo-digital/agent-pipelines/bench/internal/table"
	"github.com/dodo-digital/agent-pipelines/engine"
	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
)

// A call costs a dollar here, whatever was set aside for it. So far may calls side by side that set aside half of that pass a
// ceiling: the other half of each.
const halfCall = 0.5 // dollars

// ceilings is by how many calls the providers of a block pass the ceiling that they have in common: where the author says that
// a call takes half of what it takes, and where nothing is said.
func (b *bench) ceilings(ctx context.Context) ([]table.Row, error) {
	ceiling := 1.25*float64(b.Branches) + halfCall // dollars: no number of calls comes to that
	var rows []table.Row
	for _, says := range []struct {
		what    string
		reserve float64
		most    float64
	}{
		{"each set aside as half of what it costs", halfCall, halfCall * float64(b.Branches)},
		{"nothing said of what one costs", 0, 1}, // the dearest so far is set aside: the last one at most
	} {
		p, err := b.Project(ground.Ceiling("inside", b.Branches, ceiling, says.reserve))
		if err != nil {
			return nil, err
		}
		var over sample.Series
		for n := range b.CeilingRuns {
			v, err := b.overshoot(ctx, p, fmt.Sprintf("s%d", n), ceiling)
			if err != nil {
				return nil, err
			}
			over = append(over, v)
		}
		rows = append(rows, table.Row{
			What: fmt.Sprintf("calls beyond a ceiling that %d providers share, %s", b.Branches, says.what), Unit: table.Count, Ours: over,
			Peer: "the most that it can be", Theirs: sample.Constant(says.most, len(over)), Target: "at most 1×",
		})
	}
	return rows, nil
}

// overshoot is by how many calls a session passes its ceiling until that ends it.
func (b *bench) overshoot(ctx context.Context, p *ground.Project, session string, ceiling float64) (_ float64, err error) {
	agent := &dear{}
	eng, err := b.engine(p, agent)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, eng.Close(context.WithoutCancel(ctx))) }()
	result, err := eng.Run(ctx, engine.RunOptions{Pipeline: "bench", Session: session})
	if err != nil {
		return 0, err
	}
	if result.Success {
		return 0, fmt.Errorf("session %s was not ended by its ceiling: %d calls", session, agent.calls.Load())
	}
	return max(0, float64(agent.calls.Load())-ceiling), nil
}

// dear is an agent that takes a dollar, whatever it was given. It is safe for concurrent use.
type dear struct{ calls atomic.Int64 }

func (*dear) Describe() sdk.Component {
	return sdk.Component{Kind: sdk.KindProvider, Name: "inside", Provider: &sdk.ProviderTraits{Cost: sdk.ReportsAlways}}
}

func (d *dear) Execute(_ context.Context, req sdk.ExecuteRequest, _ sdk.Exchange) (sdk.ExecuteResult, error) {
	d.calls.Add(1)
	dollar := 1.0
	return sdk.ExecuteResult{Usage: &sdk.Usage{CostUSD: &dollar}}, os.WriteFile(req.Paths.Result, []byte(`{"summary":"did it"}`), 0o600)
}

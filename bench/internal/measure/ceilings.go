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

// A call costs a dollar here, whatever was reserved for it. Concurrent calls that reserve half of
// that pass a limit by the other half of each.
const halfCall = 0.5 // dollars

// ceilings measures by how many calls the providers of a block exceed their shared limit: with half
// of a call's cost reserved, and without a reservation.
func (b *bench) ceilings(ctx context.Context) ([]table.Row, error) {
	ceiling := 1.25*float64(b.Branches) + halfCall // dollars; never equal to the cost of a number of calls
	var rows []table.Row
	for _, says := range []struct {
		label   string
		reserve float64
		most    float64
	}{
		{"each set aside as half of what it costs", halfCall, halfCall * float64(b.Branches)},
		{"nothing said of what one costs", 0, 1}, // the highest cost so far is reserved, so that only the last call exceeds the limit
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
			Name: fmt.Sprintf("calls beyond a ceiling that %d providers share, %s", b.Branches, says.label), Unit: table.Count, Ours: over,
			Peer: "the most that it can be", Theirs: sample.Constant(says.most, len(over)), Target: "at most 1×",
		})
	}
	return rows, nil
}

// overshoot measures by how many calls a session exceeds its limit until the limit ends it.
func (b *bench) overshoot(ctx context.Context, p *ground.Project, session string, ceiling float64) (_ float64, err error) {
	agent := &costlyAgent{}
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

// costlyAgent is an agent whose call always costs a dollar. It is safe for concurrent use.
type costlyAgent struct{ calls atomic.Int64 }

func (*costlyAgent) Describe() sdk.Component {
	return sdk.Component{Kind: sdk.KindProvider, Name: "inside", Provider: &sdk.ProviderTraits{Cost: sdk.ReportsAlways}}
}

func (d *costlyAgent) Execute(_ context.Context, req sdk.ExecuteRequest, _ sdk.Exchange) (sdk.ExecuteResult, error) {
	d.calls.Add(1)
	dollar := 1.0
	return sdk.ExecuteResult{Usage: &sdk.Usage{CostUSD: &dollar}}, os.WriteFile(req.Paths.Result, []byte(`{"summary":"did it"}`), 0o600)
}

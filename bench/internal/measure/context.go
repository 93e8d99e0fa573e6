package measure

import (
	"context"
	"fmt"

	"github.com/dodo-digital/agent-pipelines/bench/internal/ground"
	"github.com/dodo-digital/agent-pipelines/bench/internal/sample"
	"github.com/dodo-digital/agent-pipelines/bench/internal/table"
)

// The targets of REQUIREMENTS U109 and U056; the hard limit is twice as much.
const (
	contextTarget    = 0.100 // seconds
	pipelineTarget   = 0.500 // seconds
	transitionTarget = 0.025 // seconds
	memoryTarget     = 100e6 // bytes
)

// The allowed resident memory in bytes: of a kernel with many live sessions, and of the mock
// plugin.
const (
	crowdTarget = 60e6
	mockTarget  = 25e6
)

// listBudget is the allowed time per iteration for a list of 1,000 earlier outputs, in seconds.
const listBudget = 0.001

// contexts measures the context of an iteration after many others.
func (b *bench) contexts(ctx context.Context) ([]table.Row, error) {
	const last = 50 // only the last iterations of a session count
	p, err := b.Project(ground.Loop("inside", b.History))
	if err != nil {
		return nil, err
	}
	var medians sample.Series
	var each int
	for n := range b.HistoryRuns {
		v, err := b.runInside(ctx, p, fmt.Sprintf("s%d", n))
		if err != nil {
			return nil, err
		}
		times := sample.Series(v.preparations())
		times = times[max(0, len(times)-last):]
		each = len(times)
		medians = append(medians, times.Median())
	}
	return []table.Row{{
		Name: fmt.Sprintf("context of an iteration with up to %d before it (U109)", b.History-1), Ours: medians, Each: each,
		Peer: "target", Theirs: sample.Constant(contextTarget, len(medians)),
	}}, nil
}

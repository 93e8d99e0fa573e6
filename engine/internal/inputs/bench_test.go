package inputs

import (
	"slices"
	"testing"
	"time"

	"github.com/dodo-digital/agent-pipelines/engine/internal/testkit"
	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/state"
	"github.com/dodo-digital/agent-pipelines/kernel/store"
)

// BenchmarkList writes context.json with a list of 1,000 earlier outputs and, alternately, without one. list-ns is
// the median of the differences, each of two neighbours.
func BenchmarkList(b *testing.B) {
	const earlier, pairs = 1000, 51
	dir, p := loopDir(b)
	for i := range earlier {
		writeOutput(b, dir, i+1)
	}
	r, n := NewReader(dir, p), 0
	write := func(after int) time.Duration {
		n++
		it := store.Node("written").Iteration(n) // a new file each time, as in a run
		testkit.OK(b, dir.Mkdir(string(it)))
		start := time.Now()
		c := testkit.Must(r.Build(state.State{Identity: state.Identity{Session: "demo"}}, &p.Nodes[0], event.Location{Node: "0", Visit: 1, Run: 1, Iteration: after + 1}, "progress.md"))
		testkit.Must(Write(dir, it, c))
		return time.Since(start)
	}
	write(earlier) // the outputs are found
	for b.Loop() {
		var with, without, list []time.Duration
		for range pairs {
			w, wo := write(earlier), write(0)
			with, without, list = append(with, w), append(without, wo), append(list, w-wo)
		}
		for unit, all := range map[string][]time.Duration{"with-ns": with, "without-ns": without, "list-ns": list} {
			slices.Sort(all)
			b.ReportMetric(float64(all[pairs/2]), unit)
		}
	}
}

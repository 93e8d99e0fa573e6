package measure

import (
	"context"
	"runtime"

	"github.com/dodo-digital/agent-pipelines/bench/internal/sample"
	"github.com/dodo-digital/agent-pipelines/bench/internal/table"
)

// isolation compares the start of a plugin in each kind of sandbox with a start without one.
// Benchmarks inside the kernel measure it, because sandboxes are private. There are rows only on
// Linux.
func (b *bench) isolation(ctx context.Context) ([]table.Row, error) {
	if runtime.GOOS != "linux" {
		return nil, nil
	}
	var rows []table.Row
	for _, wire := range []struct{ bench, label string }{{"plain", ""}, {"mtls", " by mutual TLS"}} {
		metrics, err := b.packageBenchmark(ctx, "./engine/internal/sandbox", "^BenchmarkStartInBox$/^"+wire.bench+"$", b.Starts)
		if err != nil {
			return nil, err
		}
		for _, box := range []struct{ unit, label string }{
			{"workspace", "sandbox workspace, network off"},
			{"workspace+network", "sandbox workspace"},
			{"strict", "sandbox strict, network off"},
			{"strict+network", "sandbox strict"},
		} {
			rows = append(rows, table.Row{
				Name: "start of a plugin" + wire.label + " in " + box.label, Ours: milliseconds(metrics[box.unit+"-ms"]),
				Peer: "in none", Theirs: milliseconds(metrics["none-ms"]),
			})
		}
	}
	return rows, nil
}

// box returns the programs that the sandboxes need.
func box() []string {
	if runtime.GOOS != "linux" {
		return nil
	}
	return []string{"bwrap"}
}

// milliseconds converts milliseconds to seconds.
func milliseconds(s sample.Series) sample.Series {
	seconds := make(sample.Series, len(s))
	for i := range s {
		seconds[i] = s[i] * 1e-3
	}
	return seconds
}

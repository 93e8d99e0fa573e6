package measure

import (
	"context"

	"github.com/dodo-digital/agent-pipelines/bench/internal/sample"
	"github.com/dodo-digital/agent-pipelines/bench/internal/table"
)

// journal compares appends to the journal with plain writes of the same bytes. The journal is a private
// room of the kernel, so a benchmark of that room measures; here it is run once for each round.
func (b *bench) journal(ctx context.Context) ([]table.Row, error) {
	metrics, err := b.roomBenchmark(ctx, "./kernel/journal", "^BenchmarkBesideFloor$", b.JournalRounds)
	if err != nil {
		return nil, err
	}
	series := func(name string) sample.Series { return nanoseconds(metrics[name+"-ns/line"]) }
	single, raw, group, rawGroup := series("append"), series("raw"), series("group"), series("rawgroup")
	return []table.Row{
		{
			What: "journal, append of a line until it is on the disk", Ours: single, Each: 16,
			Peer: "write and fdatasync of the same bytes", Theirs: raw, Key: "journal-append",
		},
		{
			What: "journal, a line of 16 appenders at once", Ours: group, Each: 256,
			Peer: "the same, 16 lines at a time", Theirs: rawGroup, Key: "journal-group",
		},
		{What: "journal, a line of 16 appenders at once", Ours: group, Each: 256, Peer: "the same, each line for itself", Theirs: raw},
		{
			What: "journal, lines in a second of 16 appenders at once", Unit: table.PerSecond, Ours: perSecond(group), Each: 256,
			Peer: "write and fdatasync, 16 lines at a time", Theirs: perSecond(rawGroup),
		},
	}, nil
}

// perSecond is how often something happens in a second that takes so many.
func perSecond(s sample.Series) sample.Series { return sample.Constant(1, len(s)).Over(s) }

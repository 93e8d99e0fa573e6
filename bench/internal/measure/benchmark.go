package measure

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"

	"github.com/dodo-digital/agent-pipelines/bench/internal/sample"
	"github.com/dodo-digital/agent-pipelines/bench/internal/table"
)

// packageBenchmark runs the Go benchmark of a package that bench may not import, once to warm up and once per round. It
// returns the values of the rounds by unit.
func (b *bench) packageBenchmark(ctx context.Context, pkg, name string, rounds int) (map[string]sample.Series, error) {
	temp, err := b.Dir("bench") // on the same disk as the other measurements
	if err != nil {
		return nil, err
	}
	c := exec.CommandContext(ctx, "go", "test", "-run", "^$", "-bench", name, "-benchtime", "1x", "-count", strconv.Itoa(rounds+1), pkg)
	c.Dir, c.Env = b.Root, append(os.Environ(), "TMPDIR="+temp)
	var complaints bytes.Buffer
	c.Stderr = &complaints
	output, err := c.Output()
	if err != nil {
		return nil, fmt.Errorf("%s: %w\n%s%s", strings.Join(c.Args, " "), err, output, &complaints)
	}
	metrics := parseMetrics(output)
	for unit, s := range metrics {
		metrics[unit] = s[min(1, len(s)):] // the first run warms up
	}
	return metrics, nil
}

// nanoseconds converts nanoseconds to seconds.
func nanoseconds(s sample.Series) sample.Series {
	seconds := make(sample.Series, len(s))
	for i := range s {
		seconds[i] = s[i] * 1e-9
	}
	return seconds
}

// parseMetrics returns the values of each unit in the output of go test -bench, in order. It
// ignores other lines and invalid numbers.
func parseMetrics(text []byte) map[string]sample.Series {
	metrics := map[string]sample.Series{}
	lines := bufio.NewScanner(bytes.NewReader(text))
	for lines.Scan() {
		fields := strings.Fields(lines.Text())
		if len(fields) < 4 || !strings.HasPrefix(fields[0], "Benchmark") {
			continue
		}
		for i := 2; i+1 < len(fields); i += 2 { // after the name and the count
			if v, err := strconv.ParseFloat(fields[i], 64); err == nil {
				metrics[fields[i+1]] = append(metrics[fields[i+1]], v)
			}
		}
	}
	return metrics
}

// journal compares appends to the journal with plain writes of the same bytes. It runs a benchmark of the kernel once
// per round, because bench may not import the journal.
func (b *bench) journal(ctx context.Context) ([]table.Row, error) {
	metrics, err := b.packageBenchmark(ctx, "./kernel/journal", "^BenchmarkBesideFloor$", b.rounds(30))
	if err != nil {
		return nil, err
	}
	series := func(name string) sample.Series { return nanoseconds(metrics[name+"-ns/line"]) }
	return []table.Row{
		{
			Name: "journal, append of a line until it is on the disk", Ours: series("append"), Each: 16,
			Peer: "write and fdatasync of the same bytes", Theirs: series("raw"), Key: "journal-append",
		},
		{
			Name: "journal, a line of 16 appenders at once", Ours: series("group"), Each: 256,
			Peer: "the same, 16 lines at a time", Theirs: series("rawgroup"), Key: "journal-group",
		},
		{
			Name: "digest of a line for the chain", Ours: series("chain"), Each: 16,
			Peer: "append of a line until it is on the disk", Theirs: series("append"), Target: "at most 0.03×",
		},
	}, nil
}

// snapshots compares the time to record a workspace with targets. It runs a benchmark of the engine once per round.
func (b *bench) snapshots(ctx context.Context) ([]table.Row, error) {
	metrics, err := b.packageBenchmark(ctx, "./engine/internal/snapshot", "^BenchmarkRecord$", b.rounds(10))
	if err != nil {
		return nil, err
	}
	var rows []table.Row
	for _, r := range []struct {
		name, metric string
		target       float64 // seconds
	}{
		{"first snapshot of a project of 20 files", "small-first", 1.5},
		{"a later one of 20 files, after a change", "small-later", 0.05},
		{"first snapshot of a project of 4,000 files", "large-first", 1.5},
		{"a later one of 4,000 files, after a change", "large-later", 0.2},
	} {
		ours := nanoseconds(metrics[r.metric+"-ns"])
		rows = append(rows, table.Row{Name: r.name, Ours: ours, Peer: "target", Theirs: sample.Constant(r.target, len(ours))})
	}
	return rows, nil
}

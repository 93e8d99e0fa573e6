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

// journal compares appends to the journal with plain writes of the same bytes. The journal is a private
// room of the kernel, so a benchmark of that room measures; here it is run once for each round.
func (b *bench) journal(ctx context.Context) ([]table.Row, error) {
	temp, err := b.Dir("journal") // so that it works on the same disk as all the rest
	if err != nil {
		return nil, err
	}
	c := exec.CommandContext(ctx, "go", "test", "-run", "^$", "-bench", "^BenchmarkBesideFloor$", "-benchtime", "1x",
		"-count", strconv.Itoa(b.JournalRounds+1), "./kernel/internal/journal")
	c.Dir, c.Env = b.Root, append(os.Environ(), "TMPDIR="+temp)
	var complaints bytes.Buffer
	c.Stderr = &complaints
	said, err := c.Output()
	if err != nil {
		return nil, fmt.Errorf("%s: %w\n%s%s", strings.Join(c.Args, " "), err, said, &complaints)
	}
	metrics := parseMetrics(said)
	series := func(name string) sample.Series {
		s := metrics[name+"-ns/line"]
		for i := range s {
			s[i] *= 1e-9
		}
		return s[min(1, len(s)):] // the first one warms up
	}
	single, raw, group, rawGroup := series("append"), series("raw"), series("group"), series("rawgroup")
	return []table.Row{
		{
			What: "journal, append of a line until it is on the disk", Ours: single, Each: 16,
			Peer: "write and fdatasync of the same bytes", Theirs: raw,
		},
		{
			What: "journal, a line of 16 appenders at once", Ours: group, Each: 256,
			Peer: "the same, 16 lines at a time", Theirs: rawGroup,
		},
		{What: "journal, a line of 16 appenders at once", Ours: group, Each: 256, Peer: "the same, each line for itself", Theirs: raw},
	}, nil
}

// parseMetrics reads the output of go test -bench: the values of each unit in their order. Lines that
// are no results are skipped, and so are values that are no numbers.
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

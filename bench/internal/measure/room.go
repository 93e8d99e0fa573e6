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
)

// roomBenchmark runs the Go benchmark of a private room, once to warm up and once for each round, and returns what
// it reports, by unit.
func (b *bench) roomBenchmark(ctx context.Context, pkg, name string, rounds int) (map[string]sample.Series, error) {
	temp, err := b.Dir("room") // so that it works on the same disk as all the rest
	if err != nil {
		return nil, err
	}
	c := exec.CommandContext(ctx, "go", "test", "-run", "^$", "-bench", name, "-benchtime", "1x", "-count", strconv.Itoa(rounds+1), pkg)
	c.Dir, c.Env = b.Root, append(os.Environ(), "TMPDIR="+temp)
	var complaints bytes.Buffer
	c.Stderr = &complaints
	said, err := c.Output()
	if err != nil {
		return nil, fmt.Errorf("%s: %w\n%s%s", strings.Join(c.Args, " "), err, said, &complaints)
	}
	metrics := parseMetrics(said)
	for unit, s := range metrics {
		metrics[unit] = s[min(1, len(s)):] // the first one warms up
	}
	return metrics, nil
}

// nanoseconds are seconds.
func nanoseconds(s sample.Series) sample.Series {
	seconds := make(sample.Series, len(s))
	for i := range s {
		seconds[i] = s[i] * 1e-9
	}
	return seconds
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

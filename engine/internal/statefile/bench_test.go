package statefile_test

import (
	"fmt"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/dodo-digital/agent-pipelines/engine/internal/statefile"
	"github.com/dodo-digital/agent-pipelines/engine/internal/testkit"
	"github.com/dodo-digital/agent-pipelines/kernel/store"
)

// BenchmarkWrite writes the file of sessions that have made so many iterations (U056: under 100 ms).
func BenchmarkWrite(b *testing.B) {
	for _, iterations := range []int{10, 300, 3000} {
		b.Run(fmt.Sprint(iterations), func(b *testing.B) {
			_, d := testkit.Session(b, b.TempDir(), "p2")
			p := twoStages()
			p.Nodes[0].Termination["max"] = 1 << 20
			s := newStory(b, d, p)
			s.begin("pipeline")
			s.enter("0")
			for i := range iterations {
				s.iterate("0", i+1)
			}
			for b.Loop() {
				testkit.OK(b, s.writer.Flush(s.st))
			}
		})
	}
}

// BenchmarkRead loads the file of a session with 1000 iterations.
func BenchmarkRead(b *testing.B) {
	_, d := testkit.Session(b, b.TempDir(), "p2")
	p := twoStages()
	p.Nodes[0].Termination["max"] = 1 << 20
	s := newStory(b, d, p)
	s.begin("pipeline")
	s.enter("0")
	for i := range 1000 {
		s.iterate("0", i+1)
	}
	testkit.OK(b, s.writer.Flush(s.st))
	for b.Loop() {
		testkit.Must(statefile.Read(d))
	}
}

// BenchmarkHistory writes the state file of a session after many iterations with results of a usual size. The
// file is written as during the next iteration, while its agent works. cpu-ns is the median of what this
// process computes for it, bytes the file's size.
func BenchmarkHistory(b *testing.B) {
	for _, iterations := range []int{1000, 10000} {
		b.Run(fmt.Sprint(iterations), func(b *testing.B) { benchmarkHistory(b, iterations) })
	}
}

func benchmarkHistory(b *testing.B, iterations int) {
	const writes = 21
	_, d := testkit.Session(b, b.TempDir(), "p2")
	p := twoStages()
	p.Nodes[0].Termination["max"] = 1 << 20
	s := newStory(b, d, p)
	s.padding = strings.Repeat(" and so on", 12)
	s.begin("pipeline")
	s.enter("0")
	for i := range iterations {
		s.iterate("0", i+1)
	}
	for b.Loop() {
		var computed []time.Duration
		for range writes {
			before := cpu()
			testkit.OK(b, s.writer.Flush(s.st))
			computed = append(computed, cpu()-before)
		}
		slices.Sort(computed)
		b.ReportMetric(float64(computed[writes/2]), "cpu-ns")
	}
	info := testkit.Must(d.Stat(store.StateFile))
	b.ReportMetric(float64(info.Size()), "bytes")
}

// cpu is what this process has computed so far.
func cpu() time.Duration {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u) // fails for unknown arguments only
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

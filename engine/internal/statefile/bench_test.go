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

// iterated returns a session after a number of iterations.
func iterated(b *testing.B, iterations int, padding string) (*story, *store.Dir) {
	b.Helper()
	p := twoStages()
	p.Nodes[0].Termination["max"] = 1 << 20
	s, d := begun(b, p)
	s.padding = padding
	s.enter("0")
	for i := range iterations {
		s.iterate("0", i+1)
	}
	return s, d
}

// BenchmarkWrite writes the files of sessions with several numbers of iterations (U056: under 100 ms).
func BenchmarkWrite(b *testing.B) {
	for _, iterations := range []int{10, 300, 3000} {
		b.Run(fmt.Sprint(iterations), func(b *testing.B) {
			s, _ := iterated(b, iterations, "")
			for b.Loop() {
				testkit.OK(b, s.writer.Flush(s.st))
			}
		})
	}
}

// BenchmarkRead loads the file of a session with 1000 iterations.
func BenchmarkRead(b *testing.B) {
	s, d := iterated(b, 1000, "")
	testkit.OK(b, s.writer.Flush(s.st))
	for b.Loop() {
		testkit.Must(statefile.Read(d))
	}
}

// BenchmarkHistory writes the files of sessions with many iterations and results of a usual size. cpu-ns is the median
// of this process's processor time for one write, bytes the size of the file.
func BenchmarkHistory(b *testing.B) {
	const writes = 21
	for _, iterations := range []int{1000, 10000} {
		b.Run(fmt.Sprint(iterations), func(b *testing.B) {
			s, d := iterated(b, iterations, strings.Repeat(" and so on", 12))
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
			b.ReportMetric(float64(testkit.Must(d.Stat(store.StateFile)).Size()), "bytes")
		})
	}
}

// cpu returns the processor time of this process so far.
func cpu() time.Duration {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u) // fails for unknown arguments only
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

package journal

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/store"
)

// BenchmarkBesideFloor compares appends with plain writes of the same bytes that are synced as often, in one run and
// in turn. The command bench shows its metrics (docs/performance.md), all in ns per line. One appender is compared
// with a write and a sync for each line, 16 concurrent appenders with one write and one sync for 16 lines. The chain costs
// the digest of each line.
func BenchmarkBesideFloor(b *testing.B) {
	const appenders, each = 16, 16
	paused := event.New(event.SessionPaused, nil, "", event.SessionPausedData{Kind: "user", Reason: "x"})
	j := newBegunJournal(b)
	stamped := must(j.Append(b.Context(), paused))
	text := must(stamped[0].AppendLine(nil))
	line, digest := string(text), ""
	raw := must(os.OpenFile(filepath.Join(b.TempDir(), "raw"), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644))
	defer raw.Close()

	appendMany := func() {
		for range each {
			if _, err := j.Append(b.Context(), paused); err != nil {
				b.Error(err)
			}
		}
	}
	writeMany := func(text string) {
		for range each {
			_, err := raw.WriteString(text)
			if err := errors.Join(err, datasync(raw)); err != nil {
				b.Error(err)
			}
		}
	}
	subjects := []struct {
		metric string
		lines  int
		work   func()
	}{
		{"append-ns/line", each, appendMany},
		{"chain-ns/line", each, func() {
			for range each {
				digest = chainDigest("", text[:len(text)-1])
			}
		}},
		{"raw-ns/line", each, func() { writeMany(line) }},
		{"group-ns/line", appenders * each, func() {
			var wg sync.WaitGroup
			for range appenders {
				wg.Go(appendMany)
			}
			wg.Wait()
		}},
		{"rawgroup-ns/line", appenders * each, func() { writeMany(strings.Repeat(line, appenders)) }},
	}
	took := make([]time.Duration, len(subjects))
	rounds := 0
	for b.Loop() {
		rounds++
		for i, s := range subjects {
			start := time.Now()
			s.work()
			took[i] += time.Since(start)
		}
	}
	if digest == "" {
		b.Error("no digest")
	}
	for i, s := range subjects {
		b.ReportMetric(float64(took[i].Nanoseconds())/float64(rounds*s.lines), s.metric)
	}
}

// newBegunJournal returns a journal in which a run has begun.
func newBegunJournal(b *testing.B) *Journal {
	b.Helper()
	p := must(store.OpenProject(b.TempDir()))
	d := must(p.Create("s"))
	j, _, err := Open(b.Context(), d, Options{}, func(event.Event) {})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		if err := errors.Join(j.Close(), d.Close(), p.Close()); err != nil {
			b.Error(err)
		}
	})
	must(j.Begin(b.Context(), "PL-1", event.SessionStartData{Mode: "loop"}, event.KernelStartData{PID: 1}))
	return j
}

// must returns v, or panics with err.
func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

package journal_test

import (
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/journal"
)

// BenchmarkAppend compares, in one run, 16 appenders that share commits, one appender that waits for
// a sync each time, and plain appends of the same lines without any sync. group/each and each/raw are
// the ratios of the time per event.
func BenchmarkAppend(b *testing.B) {
	const appenders, events = 16, 320
	d := openDir(b)
	j := begin(b, d, journal.Options{})
	raw, err := os.OpenFile(filepath.Join(b.TempDir(), "raw"), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
	if err != nil {
		b.Fatal(err)
	}
	defer raw.Close()
	line := make([]byte, 300)

	appendMany := func(n int) {
		for range n {
			if _, err := j.Append(b.Context(), stateEvent("x")); err != nil {
				b.Error(err)
			}
		}
	}
	timed := func(f func()) time.Duration {
		start := time.Now()
		f()
		return time.Since(start)
	}
	var group, each, plain time.Duration
	rounds := 0
	for b.Loop() {
		rounds++
		group += timed(func() {
			var wg sync.WaitGroup
			for range appenders {
				wg.Go(func() { appendMany(events / appenders) })
			}
			wg.Wait()
		})
		each += timed(func() { appendMany(events) })
		plain += timed(func() {
			for range events {
				if _, err := raw.Write(line); err != nil {
					b.Error(err)
				}
			}
		})
	}
	per := func(d time.Duration) float64 { return float64(d.Nanoseconds()) / float64(rounds*events) }
	b.ReportMetric(per(group), "group-ns/event")
	b.ReportMetric(per(each), "each-ns/event")
	b.ReportMetric(per(plain), "raw-ns/event")
	b.ReportMetric(per(each)/per(group), "each/group")
	b.ReportMetric(per(each)/per(plain), "each/raw")
}

// BenchmarkInformative appends events without waiting for the disk.
func BenchmarkInformative(b *testing.B) {
	d := openDir(b)
	j := begin(b, d, journal.Options{})
	for b.Loop() {
		if _, err := j.Append(b.Context(), infoEvent("x")); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkRead(b *testing.B) {
	d := openDir(b)
	text, _ := sampleJournal(10)
	put(b, d, text)
	for b.Loop() {
		if _, err := journal.Read(d, func(event.Event) error { return nil }); err != nil {
			b.Fatal(err)
		}
	}
}

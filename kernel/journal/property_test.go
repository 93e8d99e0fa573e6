package journal_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/journal"
	"github.com/dodo-digital/agent-pipelines/kernel/store"
)

// Four writers append 500 events each (U220, U224).
func TestConcurrentAppenders(t *testing.T) {
	checkAppenders(t, openDir(t), appenders{Writers: 4, Each: 500, Buffer: 100, Interval: time.Second, DurableEvery: 2, Padding: 200})
}

func TestConcurrentAppendersOfAllKinds(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		checkAppenders(rt, openDir(t), appenders{
			Writers:      rapid.IntRange(1, 8).Draw(rt, "writers"),
			Each:         rapid.IntRange(0, 40).Draw(rt, "each"),
			Buffer:       rapid.IntRange(1, 20).Draw(rt, "buffer"),
			Interval:     rapid.SampledFrom([]time.Duration{time.Microsecond, time.Millisecond, time.Hour}).Draw(rt, "interval"),
			DurableEvery: rapid.SampledFrom([]int{1, 5, 50}).Draw(rt, "durable every"),
			Padding:      rapid.IntRange(0, 5000).Draw(rt, "padding"),
		})
	})
}

// appenders describes the writers. Each writer appends Each events; every DurableEvery-th event changes state.
type appenders struct {
	Writers, Each, Buffer, DurableEvery, Padding int
	Interval                                     time.Duration
}

// reporter is the common interface of a test and a property check.
type reporter interface {
	Errorf(string, ...any)
	Fatalf(string, ...any)
	Context() context.Context
}

// checkAppenders runs the writers and checks that every line is complete, the numbers have no gaps and each
// writer's order is kept.
func checkAppenders(t reporter, d *store.Dir, a appenders) {
	j, _, err := journal.Open(t.Context(), d, journal.Options{Buffer: a.Buffer, FlushInterval: a.Interval}, func(event.Event) {})
	if err != nil {
		t.Fatalf("%v", err)
	}
	var wg sync.WaitGroup
	for w := range a.Writers {
		wg.Go(func() {
			for i := range a.Each {
				e := infoEvent(fmt.Sprintf("%d/%d%s", w, i, strings.Repeat("x", a.Padding)))
				if i%a.DurableEvery == 0 {
					e.Type = event.Control
				}
				if _, err := j.Append(t.Context(), e); err != nil {
					t.Errorf("%v", err)
					return
				}
			}
		})
	}
	wg.Wait()
	if err := j.Close(); err != nil {
		t.Fatalf("%v", err)
	}

	log, err := readAll(d)
	if diff := cmp.Diff(journal.Report{}, log.Report); diff != "" || err != nil {
		t.Fatalf("%s, %v", diff, err)
	}
	if len(log.Events) != a.Writers*a.Each {
		t.Fatalf("%d events of %d", len(log.Events), a.Writers*a.Each)
	}
	next := make([]int, a.Writers)
	for i, e := range log.Events {
		var w, n int
		data, err := event.Decode[struct{ Text string }](e)
		if err != nil {
			t.Fatalf("%v", err)
		}
		if _, err := fmt.Sscanf(data.Text, "%d/%d", &w, &n); err != nil || n != next[w] || e.Seq != int64(i+1) {
			t.Fatalf("event %d at place %d: writer %d has number %d instead of %d (%v)", e.Seq, i+1, w, n, next[w], err)
		}
		next[w]++
	}
}

// sampleJournal returns a journal of n lines of different lengths, and the offset after each line.
func sampleJournal(n int) (text string, ends []int) {
	for i := range n {
		e := event.Event{Type: event.Control, Session: "s", Seq: int64(i + 1), RunID: "r", Epoch: 1 + i/5, Time: time.Unix(int64(i), 0)}
		e.Data = fmt.Appendf(nil, `{"id":%q}`, strings.Repeat("ü\n", i))
		line, err := e.AppendLine(nil)
		if err != nil {
			panic(err)
		}
		text += string(line)
		ends = append(ends, len(text))
	}
	return text, ends
}

// A journal cut at any byte reads as its whole lines. (A line whose newline alone is missing is whole.)
func TestCutAnywhere(t *testing.T) {
	text, ends := sampleJournal(8)
	d := openDir(t)
	for cut := range len(text) + 1 {
		put(t, d, text[:cut])
		want := 0
		for want < len(ends) && ends[want]-1 <= cut {
			want++
		}
		log := read(t, d)
		torn := cut > 0 && (want == 0 || ends[want-1] < cut)
		require(t, len(log.Events) == want && log.Report.TornTail == torn && !log.Report.Damaged(), cut, len(log.Events), log.Report.TornTail, torn, log.Report)
	}
}

// Inserted garbage costs at most the line that it hits, unless digits make a larger sequence number or epoch of it: then
// the lines that follow count as older ones.
func TestGarbageAnywhere(t *testing.T) {
	text, ends := sampleJournal(8)
	d := openDir(t)
	rapid.Check(t, func(rt *rapid.T) {
		at := rapid.IntRange(0, len(text)).Draw(rt, "at")
		garbage := rapid.OneOf(
			rapid.StringN(1, 200, 400),
			rapid.SampledFrom([]string{"\n", "\x00", "{", "{}\n", "}\n{", "null\n", "\"", strings.Repeat("\xff", 70_000)}),
			rapid.Map(rapid.SliceOfN(rapid.Byte(), 1, 100), func(b []byte) string { return string(b) }),
		).Draw(rt, "garbage")
		damaged := text[:at] + garbage + text[at:]
		for line := range strings.Lines(damaged) {
			var numbers struct{ Seq, Epoch int64 }
			if json.Unmarshal([]byte(line), &numbers) == nil && (numbers.Seq > 8 || numbers.Epoch > 2) {
				rt.Skip("the garbage made a larger number")
			}
		}
		put(t, d, damaged)
		log := read(t, d)

		read := map[int64]bool{}
		for _, e := range log.Events {
			read[e.Seq] = true
		}
		begin := 0
		for i, end := range ends {
			// A line is untouched if a newline, which may be part of the garbage, separates its text from the garbage.
			untouched := at >= end-1 && (at >= end || strings.HasPrefix(garbage, "\n")) || at < begin || at == begin && strings.HasSuffix(garbage, "\n")
			if untouched && !read[int64(i+1)] {
				rt.Errorf("event %d is missing after garbage at %d", i+1, at)
			}
			begin = end
		}
	})
}

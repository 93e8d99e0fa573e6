package journal_test

import (
	"context"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/journal"
	"github.com/dodo-digital/agent-pipelines/kernel/store"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
)

// followReader collects the events of Follow in a synctest bubble.
type followReader struct {
	seqs []int64
	err  error
	over chan struct{}
}

func follow(ctx context.Context, d *store.Dir, from int64) *followReader {
	f := &followReader{over: make(chan struct{})}
	go func() {
		defer close(f.over)
		for e, err := range journal.Follow(ctx, d, from) {
			if err != nil {
				f.err = err
				continue
			}
			f.seqs = append(f.seqs, e.Seq)
		}
	}()
	return f
}

// events waits for a poll of the follower and returns the events so far.
func (f *followReader) events() []int64 {
	time.Sleep(200 * time.Millisecond)
	synctest.Wait()
	return f.seqs
}

func appendText(t *testing.T, d *store.Dir, text string) {
	t.Helper()
	f := must(d.OpenFile(store.EventsFile, os.O_CREATE|os.O_WRONLY|os.O_APPEND))
	defer f.Close()
	must(f.WriteString(text))
}

func equal(t *testing.T, name string, got []int64, want ...int64) {
	t.Helper()
	require(t, len(got) == len(want), name, got)
	for i := range want {
		require(t, got[i] == want[i], name, got)
	}
}

func TestFollow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := openDir(t)
		ctx, cancel := context.WithCancel(t.Context())
		f := follow(ctx, d, 1)
		equal(t, "no journal yet", f.events())

		one, two, three := line(1, 1, "session_start"), line(2, 1, "kernel_start"), line(3, 1, "node_start")
		appendText(t, d, one+two)
		equal(t, "behind the first", f.events(), 2)
		appendText(t, d, three[:30])
		equal(t, "half a line", f.events(), 2)
		appendText(t, d, three[30:])
		equal(t, "the other half", f.events(), 2, 3)

		check(t, os.Truncate(d.Abs(store.EventsFile), int64(len(one)+10)))
		equal(t, "cut", f.events(), 2, 3)
		appendText(t, d, "\n"+two+three+line(4, 1, "error"))
		equal(t, "after the cut", f.events(), 2, 3, 4)

		check(t, d.Replace(store.EventsFile, []byte(one+two+three+line(4, 1, "error")+line(5, 1, "error"))))
		equal(t, "replaced", f.events(), 2, 3, 4, 5)
		cancel()
		<-f.over
		require(t, f.err == nil, f.err)
	})
}

func TestFollowALiveJournal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := openDir(t)
		j := begin(t, d, journal.Options{})
		ctx, cancel := context.WithCancel(t.Context())
		f := follow(ctx, d, 0)
		equal(t, "begun", f.events(), 1, 2)
		for range 20 {
			must(j.Append(t.Context(), infoEvent("a"), stateEvent("b")))
		}
		got := f.events()
		for i, seq := range got {
			require(t, seq == int64(i+1), got)
		}
		compare(t, 42, len(got))
		cancel()
		<-f.over
	})
}

func TestFollowEndsWithAnError(t *testing.T) {
	tests := map[string]func(t *testing.T, d *store.Dir){
		"session removed": func(t *testing.T, d *store.Dir) {
			check(t, os.RemoveAll(d.Path()))
		},
		"newer version": func(t *testing.T, d *store.Dir) {
			appendText(t, d, strings.Replace(line(2, 1, "later_invention"), `"seq"`, `"must":true,"seq"`, 1))
		},
	}
	for name, act := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d := openDir(t)
				appendText(t, d, line(1, 1, "session_start"))
				f := follow(t.Context(), d, 0)
				equal(t, "at first", f.events(), 1)
				act(t, d)
				<-f.over
				equal(t, "at the end", f.seqs, 1)
				require(t, failure.KindOf(f.err) == failure.StateCorrupt, f.err)
			})
		})
	}
}

func TestFollowStopsWhenTheReaderDoes(t *testing.T) {
	d := openDir(t)
	put(t, d, line(1, 1, "session_start")+line(2, 1, "kernel_start"))
	var got []event.Event
	for e, err := range journal.Follow(t.Context(), d, 0) {
		check(t, err)
		got = append(got, e)
		break
	}
	compare(t, "session_start", types(got))
}

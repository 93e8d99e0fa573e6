package screen

import (
	"bytes"
	"errors"
	"io"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/dodo-digital/agent-pipelines/engine"
	"github.com/dodo-digital/agent-pipelines/kernel/event"
)

// A8: a blocked reader does not block the run and still gets every event; a closed reader does not end the run.
func TestEventLines(t *testing.T) {
	var want []byte
	events := make([]event.Event, 2000)
	for i := range events {
		events[i] = event.New(event.Progress, nil, "", map[string]int{"n": i})
		events[i].Seq = int64(i + 1)
		var err error
		if want, err = events[i].AppendLine(want); err != nil {
			t.Fatal(err)
		}
	}
	observeAll := func(l *EventLines) {
		for i := range events {
			l.Observe(engine.Update{Event: &events[i]})
			l.Observe(engine.Update{})
		}
	}
	synctest.Test(t, func(t *testing.T) {
		r, w := io.Pipe()
		l := NewEventLines(w)
		observeAll(l) // before the reader reads
		var closing sync.WaitGroup
		closing.Go(func() {
			l.Close()
			w.Close()
		})
		got, err := io.ReadAll(r)
		require(t, err == nil && bytes.Equal(got, want), len(got), len(want), err)
		closing.Wait()
	})
	synctest.Test(t, func(*testing.T) {
		r, w := io.Pipe()
		r.CloseWithError(errors.New("gone"))
		l := NewEventLines(w)
		observeAll(l)
		synctest.Wait()
		observeAll(l)
		l.Close()
	})
	var none *EventLines
	observeAll(none)
	none.Close()
}

package main

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

// A8: a reader that takes nothing does not hold the run up, and gets every event all the same; one that is gone ends nothing.
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
	tell := func(l *eventLines) {
		for i := range events {
			l.observe(engine.Update{Event: &events[i]})
			l.observe(engine.Update{})
		}
	}
	synctest.Test(t, func(t *testing.T) {
		r, w := io.Pipe()
		l := (&app{console: console{stdout: w}, settings: settings{JSON: true}}).eventLines()
		tell(l) // nobody reads
		var closing sync.WaitGroup
		closing.Go(func() {
			l.close()
			w.Close()
		})
		got, err := io.ReadAll(r)
		if err != nil || !bytes.Equal(got, want) {
			t.Errorf("%d of %d bytes, %v", len(got), len(want), err)
		}
		closing.Wait()
	})
	synctest.Test(t, func(*testing.T) {
		r, w := io.Pipe()
		r.CloseWithError(errors.New("gone"))
		l := (&app{console: console{stdout: w}, settings: settings{JSON: true}}).eventLines()
		tell(l)
		synctest.Wait()
		tell(l)
		l.close()
	})
	var none *eventLines
	tell(none)
	none.close()
}

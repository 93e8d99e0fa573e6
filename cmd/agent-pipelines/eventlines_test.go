package main

import (
	"bytes"
	"errors"
	"io"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/dodo-digital/agent-pipelines/cmd/agent-pipelines/internal/cli"
	"github.com/dodo-digital/agent-pipelines/cmd/agent-pipelines/internal/verb/run"
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
	tell := func(l *run.EventLines) {
		for i := range events {
			l.Observe(engine.Update{Event: &events[i]})
			l.Observe(engine.Update{})
		}
	}
	synctest.Test(t, func(t *testing.T) {
		r, w := io.Pipe()
		l := run.NewEventLines((&cli.App{Console: cli.Console{Stdout: w}, GlobalFlags: cli.GlobalFlags{JSON: true}}))
		tell(l) // nobody reads
		var closing sync.WaitGroup
		closing.Go(func() {
			l.Close()
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
		l := run.NewEventLines((&cli.App{Console: cli.Console{Stdout: w}, GlobalFlags: cli.GlobalFlags{JSON: true}}))
		tell(l)
		synctest.Wait()
		tell(l)
		l.Close()
	})
	var none *run.EventLines
	tell(none)
	none.Close()
}

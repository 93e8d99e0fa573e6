package journal_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/journal"
	"github.com/dodo-digital/agent-pipelines/kernel/store"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
)

func TestBeginAndAppend(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := openDir(t)
		j := open(t, d, journal.Options{})
		begun := must(j.Begin(t.Context(), "PL-1", event.SessionStartData{Mode: "loop"}, event.KernelStartData{PID: 7}))
		time.Sleep(time.Minute)
		place := event.Location{Node: "0", Visit: 1, Run: 1, Iteration: 1}
		e := event.New(event.IterationStart, place.Cursor(), place.Key(event.KeyAttempt, 1), event.IterationStartData{Stage: "tick"})
		e.Attempt = 1
		got := must(j.Append(t.Context(), e, stateEvent("why")))

		start := time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC) // where a bubble's clock begins
		later := start.Add(time.Minute)
		want := []event.Event{
			{Type: event.SessionStart, Cursor: &event.Cursor{NodePath: "0"}, Seq: 1, Time: start},
			{Type: event.KernelStart, Seq: 2, Time: start},
			{Type: event.IterationStart, Cursor: place.Cursor(), Key: e.Key, Attempt: 1, Seq: 3, Time: later},
			{Type: event.SessionPaused, Seq: 4, Time: later},
		}
		for i := range want {
			want[i].Session, want[i].RunID, want[i].Epoch = "s", "PL-1", 1
		}
		withoutData := cmpopts.IgnoreFields(event.Event{}, "Data", "Prev")
		if diff := cmp.Diff(want, append(begun, got...), withoutData); diff != "" {
			t.Error("returned:", diff)
		}
		log := read(t, d)
		compare(t, append(begun, got...), log.Events)
		compare(t, journal.Report{}, log.Report)
	})
}

// A line begins with the keys of the Bash engine, followed by keys that the Bash engine does not have.
func TestLinesBeginAsBashWritesThem(t *testing.T) {
	d := openDir(t)
	j := open(t, d, journal.Options{})
	must(j.Begin(t.Context(), "PL-1", event.SessionStartData{Mode: "pipeline", Pipeline: "two", PipelineFile: "pipes/two.yaml"}, event.KernelStartData{}))
	cursor := event.Location{Node: "0", Iteration: 2}.Cursor()
	result := event.IterationCompleteData{Decision: "continue", Reason: "a \"b\"", Result: event.Ref{Path: "stage-00-a/iterations/002/result.json"}}
	must(j.Append(t.Context(), event.New(event.IterationComplete, cursor, "", result)))
	lines := strings.Split(content(t, d), "\n")
	for i, want := range map[int][]string{
		0: {`{"ts":"`, `Z","type":"session_start","session":"s","cursor":{"node_path":"0","node_run":0,"iteration":0},"data":{"mode":"pipeline","pipeline":"two","pipeline_file":"pipes/two.yaml",`, `},"timestamp":"`},
		1: {`"cursor":null`},
		2: {`"cursor":{"node_path":"0","node_run":2,"iteration":2},"data":{"result_file":"` + d.Abs(result.Result.Path) + `","decision":"continue","reason":"a \"b\"",`, `"seq":3`},
	} {
		for _, part := range want {
			require(t, strings.Contains(lines[i], part), i, part, lines[i])
		}
	}
}

func TestInformativeEventsWaitForTheFlush(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := openDir(t)
		j := begin(t, d, journal.Options{FlushInterval: 3 * time.Second})
		got, err := j.Append(t.Context(), infoEvent("a"))
		require(t, err == nil && got[0].Seq == 3, got, err)
		time.Sleep(2 * time.Second)
		synctest.Wait()
		compare(t, 2, len(read(t, d).Events))
		time.Sleep(time.Second)
		synctest.Wait()
		compare(t, 3, len(read(t, d).Events))
		must(j.Append(t.Context(), infoEvent("b")))
		must(j.Append(t.Context(), stateEvent("c")))
		compare(t, "progress session_paused", types(read(t, d).Events[3:]))
	})
}

func TestVolatileEventsWaitForFlush(t *testing.T) {
	d := openDir(t)
	j := begin(t, d, journal.Options{FlushInterval: time.Hour})
	seen := event.New(event.ToolCall, nil, "", event.ToolCallData{CallID: "1", Observed: true})
	seen.Volatile = true
	must(j.Append(t.Context(), seen))
	compare(t, "", types(read(t, d).Events[2:]))
	check(t, j.Close())
	compare(t, "tool_call", types(read(t, d).Events[2:]))
}

func TestFullBufferBlocksWriter(t *testing.T) {
	d := openDir(t)
	j := begin(t, d, journal.Options{Buffer: 10, FlushInterval: time.Hour})
	const n = 10_000
	for i := range n {
		must(j.Append(t.Context(), infoEvent(fmt.Sprint(i))))
	}
	check(t, j.Sync())
	log := read(t, d)
	require(t, len(log.Events) == n+2 && !log.Report.Damaged(), len(log.Events), log.Report)
}

func TestWaitingForSpaceEndsWithTheContext(t *testing.T) {
	d := openDir(t)
	j := begin(t, d, journal.Options{Buffer: 1, FlushInterval: time.Hour})
	lock := must(d.OpenFile(store.EventsLock, os.O_RDWR))
	release := holdLock(t, lock) // so that nothing is committed
	var fillers sync.WaitGroup
	for range 3 { // one is taken by the commit that waits, one fills the buffer, one waits for space
		fillers.Go(func() {
			if _, err := j.Append(t.Context(), infoEvent("x")); err != nil {
				t.Error(err)
			}
		})
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	why := errors.New("shutting down")
	cancel(why)
	_, err := j.Append(ctx, infoEvent("late"))
	require(t, errors.Is(err, why), err)
	release()
	fillers.Wait()
	check(t, j.Close())
	compare(t, "progress progress progress", types(read(t, d).Events[2:]))
}

func TestTooLongEvent(t *testing.T) {
	d := openDir(t)
	j := begin(t, d, journal.Options{})
	_, err := j.Append(t.Context(), stateEvent("fine"), stateEvent(strings.Repeat("x", event.MaxLine)))
	require(t, failure.KindOf(err) == failure.Internal && strings.Contains(err.Error(), "session_paused") && strings.Contains(err.Error(), "65"), err)
	must(j.Append(t.Context(), stateEvent("next")))
	log := read(t, d)
	got := types(log.Events)
	require(t, got == "session_start kernel_start session_paused" && !log.Report.Damaged(), got, log.Report)
}

func TestInvalidData(t *testing.T) {
	d := openDir(t)
	j := begin(t, d, journal.Options{})
	for name, data := range map[string]string{"no JSON": "{", "result of another type": `{"result":3}`, "null": "null", "list": "[1]"} {
		_, err := j.Append(t.Context(), event.Event{Type: event.IterationComplete, Data: json.RawMessage(data)})
		wantErr := name == "no JSON"
		require(t, wantErr == (err != nil), name, err)
	}
	log := read(t, d)
	require(t, len(log.Events) == 5 && len(log.Report.BadLines) == 0, len(log.Events), log.Report)
}

func TestTimeNeverGoesBack(t *testing.T) {
	d := openDir(t)
	future := time.Date(2999, 1, 1, 0, 0, 0, 0, time.UTC)
	line := must(event.Event{Type: event.SessionStart, Session: "s", Seq: 1, RunID: "r", Epoch: 1, Time: future}.AppendLine(nil))
	put(t, d, string(line))
	j := open(t, d, journal.Options{})
	got, err := j.Append(t.Context(), stateEvent("x"))
	require(t, err == nil && !got[0].Time.Before(future), got[0].Time, err)
}

func TestClosed(t *testing.T) {
	d := openDir(t)
	j := begin(t, d, journal.Options{FlushInterval: time.Hour})
	must(j.Append(t.Context(), infoEvent("waits")))
	for range 2 {
		check(t, j.Close())
	}
	compare(t, "session_start kernel_start progress", types(read(t, d).Events))
	_, err := j.Append(t.Context(), stateEvent("x"))
	require(t, errors.Is(err, journal.ErrClosed), err)
	_, err = j.Start(t.Context(), event.KernelStartData{})
	require(t, errors.Is(err, journal.ErrClosed), err)
}

func TestSessionRemovedOrJournalChanged(t *testing.T) {
	acts := map[string]func(d *store.Dir) error{
		"directory removed": func(d *store.Dir) error { return os.RemoveAll(d.Path()) },
		"journal removed":   func(d *store.Dir) error { return d.Remove(store.EventsFile) },
		"journal replaced":  func(d *store.Dir) error { return d.Replace(store.EventsFile, []byte("x")) },
		"journal cut":       func(d *store.Dir) error { return os.Truncate(d.Abs(store.EventsFile), 10) },
	}
	for name, act := range acts {
		t.Run(name, func(t *testing.T) {
			d := openDir(t)
			j := begin(t, d, journal.Options{})
			check(t, act(d))
			for range 2 {
				_, err := j.Append(t.Context(), stateEvent("x"))
				require(t, failure.KindOf(err) == failure.StateCorrupt, err)
			}
		})
	}
}

// The file has no secrets, and Append and Begin return the written events, so that live state and replay
// agree.
func TestEventsAreRedactedFirst(t *testing.T) {
	d := openDir(t)
	clean := func(e event.Event) event.Event {
		e.Data = []byte(strings.ReplaceAll(string(e.Data), "hunter2", "***"))
		return e
	}
	j, _, err := journal.Open(t.Context(), d, journal.Options{Redact: clean}, func(event.Event) {})
	check(t, err)
	begun := must(j.Begin(t.Context(), "R", event.SessionStartData{Stage: "hunter2"}, event.KernelStartData{Version: "hunter2"}))
	given := event.New(event.SessionPaused, nil, "", event.SessionPausedData{Reason: "hunter2"})
	appended := must(j.Append(t.Context(), given))
	require(t, strings.Contains(string(given.Data), "hunter2"), "the caller's event was changed")
	check(t, j.Close())
	log, err := readAll(d)
	require(t, err == nil && len(log.Events) == 3, len(log.Events), err)
	for i, e := range append(begun, appended...) {
		if string(e.Data) != string(log.Events[i].Data) || strings.Contains(string(e.Data), "hunter2") || !strings.Contains(string(e.Data), "***") {
			t.Errorf("%s: returned %s, written %s", e.Type, e.Data, log.Events[i].Data)
		}
	}
}

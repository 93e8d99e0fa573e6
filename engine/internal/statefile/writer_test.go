package statefile_test

import (
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/dodo-digital/agent-pipelines/engine/internal/statefile"
	"github.com/dodo-digital/agent-pipelines/engine/internal/testkit"
	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/kernel/store"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// golden compares state.json with a file of testdata.
func golden(t *testing.T, d *store.Dir, name string) {
	t.Helper()
	got := testkit.Must(os.ReadFile(d.Abs(store.StateFile)))
	path := filepath.Join("testdata", name+".json")
	if *update {
		testkit.OK(t, os.WriteFile(path, got, 0o644))
	}
	want := testkit.Must(os.ReadFile(path))
	testkit.Equal(t, string(want), string(got))
}

func TestStateFile(t *testing.T) {
	tests := map[string]func(s *story){
		"completed": func(s *story) {
			s.iterate("0", 1)
			s.iterate("0", 2)
			s.leave("0", "1")
			s.enter("1")
			s.iterate("1", 1)
			s.leave("1", "done")
			s.append(event.SessionComplete, event.Location{Node: "1"}, "", event.SessionCompleteData{Reason: "all_loops_complete"})
		},
		"iterating": func(s *story) {
			s.iterate("0", 1)
			s.startIteration("0", 2)
		},
		"paused": func(s *story) {
			s.iterate("0", 1)
			s.append(event.SessionPaused, event.Location{Node: "0"}, "", event.SessionPausedData{Kind: "user", Reason: "lunch"})
		},
		"aborted": func(s *story) {
			s.append(event.SessionAborted, event.Location{Node: "0"}, "", event.SessionAbortedData{Reason: "User requested", By: "alice"})
		},
		"failed": func(s *story) {
			s.iterate("0", 1)
			s.append(event.NodeComplete, event.Location{Node: "0"}, "", event.NodeCompleteData{
				Name: "plan", Status: "failed", Outcome: "error", To: "failed",
				Failure: &event.FailureData{ErrorType: "provider_failed", Message: "no more credit"},
			})
		},
		"resumed": func(s *story) {
			s.iterate("0", 1)
			s.append(event.SessionPaused, event.Location{Node: "0"}, "", event.SessionPausedData{Kind: "signal"})
			s.append(event.SessionResumed, event.Location{Node: "0"}, "", event.SessionResumedData{})
		},
	}
	for name, play := range tests {
		t.Run(name, func(t *testing.T) {
			s, d := begun(t, twoStages())
			s.enter("0")
			play(s)
			golden(t, d, name)

			got := testkit.Must(statefile.Read(d))
			if diff := cmp.Diff(&s.st, got.Scheduler); diff != "" {
				t.Error("the state does not come back:", diff)
			}
			again := continued(d, s.plan, s.events)
			testkit.OK(t, again.Flush(s.st))
			golden(t, d, name) // the file rebuilt from the journal equals the file written during the run
		})
	}
}

// The first members and their order are those of the Bash engine; the members of this engine follow.
func TestBashMembersComeFirst(t *testing.T) {
	_, d := begun(t, twoStages())
	text := testkit.Must(os.ReadFile(d.Abs(store.StateFile)))
	var keys []string
	dec := json.NewDecoder(strings.NewReader(string(text)))
	testkit.Must(dec.Token())
	for dec.More() {
		key := testkit.Must(dec.Token())
		var value json.RawMessage
		testkit.OK(t, dec.Decode(&value))
		keys = append(keys, key.(string))
	}
	want := []string{
		"session", "type", "started_at", "status", "current_stage", "iteration", "iteration_completed", "iteration_started",
		"stages", "history", "event_offset",
	}
	testkit.Equal(t, want, keys[:len(want)])
}

func TestHistoryOfNewRunIsEmpty(t *testing.T) {
	s, d := begun(t, twoStages())
	s.enter("0")
	s.iterate("0", 1)
	s.append(event.SessionAborted, event.Location{Node: "0"}, "", event.SessionAbortedData{})
	s.append(event.SessionStart, event.Location{Node: "0"}, "", event.SessionStartData{Mode: "pipeline"})
	if got, err := statefile.Read(d); err != nil || len(got.History) != 0 || got.Status != "running" {
		t.Errorf("%+v, %v", got, err)
	}
}

// Events of the Bash engine lack the results of iterations, which are only in the result files.
func TestHistoryOfBashEvents(t *testing.T) {
	_, d := testkit.Session(t, t.TempDir(), "p2")
	if err := d.Replace("stage-00-plan/iterations/001/result.json", []byte(
		`{"summary":"did it","work":{"items_completed":["t1"],"files_touched":["a"]},"signals":{"plateau_suspected":true,"risk":"low","notes":"n"}}`)); err != nil {
		t.Fatal(err)
	}
	testkit.OK(t, d.Replace("stage-00-plan/iterations/003/result.json", []byte("not json")))
	var past []event.Event
	add := func(kind event.Type, cursor *event.Cursor, data string) {
		past = append(past, event.Event{Type: kind, Cursor: cursor, Data: json.RawMessage(data), Time: time.Unix(0, 0)})
	}
	result := func(i string) string {
		return `{"result_file":"` + d.Abs("stage-00-plan/iterations/"+i+"/result.json") + `","decision":"stop","reason":"n"}`
	}
	at := func(i int) *event.Cursor { return event.Location{Node: "0", Iteration: i}.Cursor() }
	add(event.SessionStart, at(0), `{"mode":"pipeline"}`)
	add(event.IterationComplete, at(1), result("001"))
	add(event.IterationComplete, at(2), result("002"))
	add(event.IterationComplete, at(3), result("003"))
	add(event.IterationComplete, at(4), `{"result_file":"/etc/passwd","decision":"stop","reason":""}`)
	add(event.IterationComplete, event.Location{Node: "0", Branch: "claude", Iteration: 1}.Cursor(), `{}`)
	add(event.IterationComplete, nil, `{}`)
	add(event.IterationComplete, at(5), `[]`)

	s := newStory(t, d, twoStages())
	s.begin("pipeline")
	testkit.OK(t, continued(d, s.plan, past).Flush(s.st))
	got := testkit.Must(statefile.Read(d))
	none := []string{}
	entry := func(i int) statefile.Iteration {
		return statefile.Iteration{Iteration: i, Timestamp: "1970-01-01T00:00:00Z", Stage: "plan", Decision: "stop", Reason: "n", FilesTouched: none, ItemsCompleted: none}
	}
	first := entry(1)
	first.Summary, first.FilesTouched, first.ItemsCompleted = "did it", []string{"a"}, []string{"t1"}
	first.Signals = event.Signals{PlateauSuspected: true, Risk: "low", Notes: "n"}
	last := entry(4)
	last.Reason = ""
	testkit.Equal(t, []statefile.Iteration{first, entry(2), entry(3), last}, got.History)
}

// seen returns the number of the last event in state.json.
func seen(t *testing.T, d *store.Dir) int64 {
	t.Helper()
	got := testkit.Must(statefile.Read(d))
	return got.EventSeq
}

func TestWriteTimes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, d := testkit.Session(t, t.TempDir(), "p2")
		p := twoStages()
		p.Nodes[0].Termination = plan.Termination{"type": "fixed", "max": 1 << 20}
		s := newStory(t, d, p)
		s.padding = strings.Repeat("x", 20<<10)
		s.begin("pipeline")
		s.enter("0")
		size := func() int64 {
			info := testkit.Must(d.Stat(store.StateFile))
			return info.Size()
		}
		i := 0
		for ; size() < 256<<10; i++ {
			s.iterate("0", i+1)
			if got, want := seen(t, d), s.st.Seq-1; got != want { // the decision is not yet written
				t.Fatalf("while small: event %d seen, want %d", got, want)
			}
		}
		large := seen(t, d)
		time.Sleep(time.Hour) // even long after the last write, no iteration waits for a write
		s.iterate("0", i+1)
		testkit.Equal(t, large, seen(t, d))
		time.Sleep(time.Second)
		synctest.Wait()
		testkit.Equal(t, s.st.Seq, seen(t, d))
		s.startIteration("0", i+2)
		s.append(event.SessionPaused, event.Location{Node: "0"}, "", event.SessionPausedData{Kind: "user"})
		testkit.Equal(t, s.st.Seq, seen(t, d))
		testkit.OK(t, s.writer.Flush(s.st))
	})
}

func TestNothingIsWrittenBeforeTheRunBegins(t *testing.T) {
	_, d := testkit.Session(t, t.TempDir(), "p2")
	s := newStory(t, d, twoStages())
	testkit.OK(t, s.writer.Flush(s.st))
	if _, err := d.Stat(store.StateFile); err == nil {
		t.Error("a state of nothing was written")
	}
}

// TestEventsDoNotWaitForTheFile: an event of an iteration does not wait for its write, but Sync does.
func TestEventsDoNotWaitForTheFile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, d := begun(t, twoStages())
		s.enter("0")
		before := seen(t, d)
		e := event.New(event.IterationStart, nil, "", nil)
		next := s.st
		next.Seq++
		testkit.OK(t, s.writer.Update(e, next))
		s.writer.Sync()
		testkit.Equal(t, before+1, seen(t, d))
		next.Seq++
		testkit.OK(t, s.writer.Update(e, next))
		synctest.Wait()
		testkit.Equal(t, before+2, seen(t, d))
	})
}

func TestFailedWriteIsReported(t *testing.T) {
	s, d := begun(t, twoStages())
	testkit.OK(t, os.RemoveAll(d.Path()))
	if err := s.writer.Flush(s.st); err == nil {
		t.Error("the write into a directory that is gone succeeded")
	}
}

package journal_test

import (
	"os"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/google/go-cmp/cmp"

	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/journal"
	"github.com/dodo-digital/agent-pipelines/kernel/store"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// openDir makes the directory of a session named s.
func openDir(t testing.TB) *store.Dir {
	t.Helper()
	p := must(store.OpenProject(t.TempDir()))
	d := must(p.Create("s"))
	t.Cleanup(func() { _ = d.Close(); _ = p.Close() })
	return d
}

// open opens the journal of d and closes it with the test.
func open(t testing.TB, d *store.Dir, o journal.Options) *journal.Journal {
	t.Helper()
	j, _, err := journal.Open(t.Context(), d, o, func(event.Event) {})
	check(t, err)
	t.Cleanup(func() { _ = j.Close() })
	return j
}

// begin opens the journal of d and begins a run in it.
func begin(t testing.TB, d *store.Dir, o journal.Options) *journal.Journal {
	t.Helper()
	j := open(t, d, o)
	must(j.Begin(t.Context(), "PL-1", event.SessionStartData{Mode: "loop"}, event.KernelStartData{PID: 1}))
	return j
}

// wholeJournal is a journal with all its events.
type wholeJournal struct {
	journal.Summary
	Events []event.Event
}

func read(t testing.TB, d *store.Dir) wholeJournal {
	t.Helper()
	return must(readAll(d))
}

func readAll(d *store.Dir) (log wholeJournal, err error) {
	log.Summary, err = journal.Read(d, func(e event.Event) error {
		log.Events = append(log.Events, e)
		return nil
	})
	return log, err
}

// content returns the bytes of the journal, put replaces them.
func content(t testing.TB, d *store.Dir) string {
	t.Helper()
	return string(must(os.ReadFile(d.Abs(store.EventsFile))))
}

func put(t testing.TB, d *store.Dir, text string) {
	t.Helper()
	check(t, os.WriteFile(d.Abs(store.EventsFile), []byte(text), 0o644))
}

func types(events []event.Event) string {
	var b strings.Builder
	for _, e := range events {
		b.WriteString(string(e.Type) + " ")
	}
	return strings.TrimSpace(b.String())
}

// stateEvent returns an event that changes state; infoEvent returns one that does not.
func stateEvent(reason string) event.Event {
	return event.New(event.SessionPaused, nil, "", event.SessionPausedData{Kind: "user", Reason: reason})
}

func infoEvent(text string) event.Event {
	return event.New(event.Progress, nil, "", map[string]string{"text": text})
}

// must returns v, or panics with err.
func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// check ends the test if err is not nil.
func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// compare reports how got differs from want.
func compare[T any](t testing.TB, want, got T) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// require ends the test and shows the values unless ok.
func require(t testing.TB, ok bool, values ...any) {
	t.Helper()
	if !ok {
		for _, v := range values {
			t.Logf("%+v", v)
		}
		t.FailNow()
	}
}

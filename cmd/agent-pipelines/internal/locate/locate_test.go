package locate_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/dodo-digital/agent-pipelines/cmd/agent-pipelines/internal/locate"
	"github.com/dodo-digital/agent-pipelines/kernel/event"
)

// Visits are counted where a cursor does not tell them, anew in each run of the pipeline and of a nested one; a key tells its place by itself; names
// are learned; and what an overtaken kernel wrote does not count.
func TestLocator(t *testing.T) {
	l := locate.New(map[string]string{"0": "plan"})
	take := func(epoch int, e event.Event) bool { e.Epoch = epoch; return l.Take(e) }
	enter := func(path string, data any) event.Event {
		return event.New(event.NodeStart, &event.Cursor{NodePath: path}, "", data)
	}
	at := func(path string) event.Event {
		return event.New(event.ParallelProviderComplete, &event.Cursor{NodePath: path, Provider: "codex"}, "", nil)
	}
	where := func(e event.Event, name string, want event.Location) {
		t.Helper()
		got := l.Place(e)
		if diff := cmp.Diff(want, got); diff != "" || l.Name(got.Node) != name {
			t.Errorf("%q, want %q; %s", l.Name(got.Node), name, diff)
		}
	}
	take(1, event.New(event.SessionStart, nil, "", nil))
	where(event.New(event.SessionPaused, nil, "", nil), "", event.Location{})
	where(at("0"), "plan", event.Location{Node: "0", Visit: 1, Run: 1, Branch: "codex"})
	where(at("7"), "node 7", event.Location{Node: "7", Visit: 1, Run: 1, Branch: "codex"})
	take(1, enter("1", event.BlockStartData{Stages: []string{"think", "write"}}))
	take(2, enter("1", event.NodeStartData{Name: "ideas"}))
	where(at("1"), "ideas", event.Location{Node: "1", Visit: 2, Run: 1, Branch: "codex"})
	where(at("1.1"), "write", event.Location{Node: "1.1", Visit: 1, Run: 1, Branch: "codex"})
	if take(1, enter("1", event.NodeStartData{Name: "late"})) {
		t.Error("an event of an overtaken kernel counts")
	}
	where(at("1"), "ideas", event.Location{Node: "1", Visit: 2, Run: 1, Branch: "codex"})
	place := event.Location{Node: "1", Visit: 9, Run: 2, Iteration: 3}
	where(event.New(event.IterationComplete, nil, place.Key(event.KeyAttempt, 1), nil), "ideas", place)
	take(2, event.New(event.RunStart, nil, "", nil))
	where(at("1"), "ideas", event.Location{Node: "1", Visit: 1, Run: 1, Branch: "codex"})
	inside := event.Location{Node: "2.0.1", Visit: 2, Run: 1, Branch: "codex"}
	anew := func(path string) event.Event {
		return event.New(event.NodeRunStart, &event.Cursor{NodePath: path}, "", nil)
	}
	take(2, enter("2.0.1", event.NodeStartData{Name: "inside"}))
	take(2, enter("2.0.1", event.NodeStartData{Name: "inside"}))
	take(2, anew("2.0"))
	take(2, anew("20"))
	where(at("2.0.1"), "inside", inside)
	take(2, anew("2"))
	inside.Visit = 1
	where(at("2.0.1"), "inside", inside)
}

package schedule_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/kernel/progress"
	"github.com/dodo-digital/agent-pipelines/kernel/schedule"
	"github.com/dodo-digital/agent-pipelines/kernel/state"
)

// maxFuzzed bounds the size of an input, because the whole journal is folded after each of its lines.
const maxFuzzed = 20 << 10

// FuzzFold folds any journal of any plan. An event that does not fit changes nothing and returns an error. After
// every other event Decide returns, and both its commands and the state survive a JSON round trip.
func FuzzFold(f *testing.F) {
	journal := must(os.ReadFile(filepath.Join("testdata", "journal-v1.jsonl")))
	files, err := filepath.Glob("../compile/testdata/plan/*.txtar")
	if err != nil || len(files) == 0 {
		f.Fatalf("no seeds: %v", err)
	}
	for _, file := range files {
		archive := must(txtar.ParseFile(file))
		for _, part := range archive.Files {
			if filepath.Ext(part.Name) == ".json" {
				f.Add(part.Data, journal)
			}
		}
	}
	golden := stages(plan.Node{ID: "plan"}, plan.Node{ID: "build", Termination: plan.Termination{"type": "judgment", "max": 3}})
	f.Add([]byte(asJSON(golden)), journal)
	f.Fuzz(func(t *testing.T, planned, journal []byte) {
		var p plan.Plan
		if len(planned)+len(journal) > maxFuzzed || json.Unmarshal(planned, &p) != nil {
			return
		}
		var s state.State
		for line := range bytes.Lines(journal) {
			e, err := event.ParseLine(line)
			if err != nil {
				continue
			}
			before := asJSON(s)
			next, err := progress.Apply(&p, s, e)
			if diff := cmp.Diff(before, asJSON(s)); diff != "" {
				t.Fatalf("%s changed its input state:\n%s", line, diff)
			}
			if err != nil {
				if diff := cmp.Diff(before, asJSON(next)); diff != "" {
					t.Fatalf("%s was refused (%v) and changed the state:\n%s", line, err, diff)
				}
				continue
			}
			s = next
			checkRoundTrip(t, &p, s)
		}
	})
}

// checkRoundTrip encodes a state as JSON and decodes it.
func checkRoundTrip(t *testing.T, p *plan.Plan, s state.State) {
	t.Helper()
	text := asJSON(s)
	back, err := state.Parse([]byte(text))
	if err != nil {
		t.Fatalf("the state does not come back: %v\n%s", err, text)
	}
	if diff := cmp.Diff(text, asJSON(back)); diff != "" {
		t.Fatalf("the state changes in JSON:\n%s", diff)
	}
	if diff := cmp.Diff(asJSON(schedule.Decide(p, s)), asJSON(schedule.Decide(p, back))); diff != "" {
		t.Fatalf("the state from its JSON leads to other commands:\n%s", diff)
	}
	if _, err := progress.Apply(p, s, event.Event{Type: "of_another_version", Critical: true}); err == nil {
		t.Fatal("an unknown event that must be understood is taken")
	}
}

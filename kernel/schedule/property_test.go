package schedule_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"
	"pgregory.net/rapid"

	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/kernel/progress"
	"github.com/dodo-digital/agent-pipelines/kernel/schedule"
	"github.com/dodo-digital/agent-pipelines/kernel/state"
)

// maxTransitions is far above the number that three runs of four nodes of four iterations, retries, crashes and
// resumes can need.
const maxTransitions = 15000

// checkRuns checks a property of randomly drawn runs that have ended or paused.
func checkRuns(t *testing.T, property func(t *rapid.T, s *simulation)) {
	t.Helper()
	rapid.Check(t, func(t *rapid.T) {
		s := start(t, drawPlan(t))
		s.run(maxTransitions)
		property(t, s)
	})
}

// U070, D3: every run ends or pauses after a bounded number of transitions.
func TestEveryRunEndsOrPauses(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		start(t, drawPlan(t)).run(maxTransitions)
	})
}

// U047: folding any prefix of a journal, read back from its lines, gives exactly the state of the live run, and the
// same commands.
func TestReplayEqualsLiveRun(t *testing.T) {
	checkRuns(t, func(t *rapid.T, s *simulation) {
		var replayed state.State
		for i, e := range s.journal {
			line := must(e.AppendLine(nil))
			read := must(event.ParseLine(line))
			replayed = must(progress.Apply(s.plan, replayed, read))
			if diff := cmp.Diff(asJSON(s.states[i]), asJSON(replayed)); diff != "" {
				t.Fatalf("state after event %d (live, replayed):\n%s", i, diff)
			}
			if diff := cmp.Diff(asJSON(schedule.Decide(s.plan, s.states[i])), asJSON(schedule.Decide(s.plan, replayed))); diff != "" {
				t.Fatalf("commands after event %d (live, replayed):\n%s", i, diff)
			}
		}
	})
}

// A copy of the state at an event boundary is complete: continuing from its JSON gives the same result.
func TestStateCopyIsComplete(t *testing.T) {
	checkRuns(t, func(t *rapid.T, s *simulation) {
		at := rapid.IntRange(0, len(s.states)-1).Draw(t, "snapshot")
		snapshot := must(state.Parse([]byte(asJSON(s.states[at]))))
		for _, e := range s.journal[at+1:] {
			snapshot = must(progress.Apply(s.plan, snapshot, e))
		}
		if diff := cmp.Diff(asJSON(s.state), asJSON(snapshot)); diff != "" {
			t.Fatalf("end state (live, from snapshot):\n%s", diff)
		}
	})
}

// A journal cut between any two lines is valid: a new kernel continues from there to an end.
func TestEveryCutCanBeResumed(t *testing.T) {
	checkRuns(t, func(t *rapid.T, s *simulation) {
		cut := rapid.IntRange(1, len(s.journal)).Draw(t, "cut")
		again := &simulation{t: t, plan: s.plan, clock: s.clock, inFlight: map[event.Key]schedule.Command{}, begun: map[event.Key]bool{}, resumed: map[event.Key]bool{}}
		again.state, again.journal, again.states = s.states[cut-1], s.journal[:cut], s.states[:cut]
		if again.state.Status.Final() {
			return
		}
		again.startKernel()
		again.resume()
		again.run(maxTransitions)
	})
}

// U069, D2: no iteration is completed twice, unless its agent reported an error and the user resumed.
func TestNoIterationCompletesTwice(t *testing.T) {
	checkRuns(t, func(t *rapid.T, s *simulation) {
		done := map[event.Location]bool{}
		for _, e := range s.journal {
			if e.Type != event.IterationComplete {
				continue
			}
			_, loc, _, _ := e.Key.Parse()
			d := must(event.Decode[event.IterationCompleteData](e))
			if done[loc] {
				t.Fatalf("%v completed twice", loc)
			}
			done[loc] = d.AgentDecision != "error"
		}
	})
}

// A repeated, late or outdated line changes nothing.
func TestInvalidEventsChangeNothing(t *testing.T) {
	checkRuns(t, func(t *rapid.T, s *simulation) {
		e := rapid.SampledFrom(s.journal).Draw(t, "event")
		e.Seq = rapid.SampledFrom([]int64{e.Seq, s.state.Seq + 1}).Draw(t, "seq")
		if e.Seq > s.state.Seq && (e.Type == event.SessionStart || e.Type == event.SessionResumed || e.Type == event.Control || e.Type == event.QuestionAsked || e.Type == event.TimerSet) {
			return // these may be repeated
		}
		after, err := progress.Apply(s.plan, s.state, e)
		if err != nil && !isInvalidTransition(err) {
			t.Fatalf("apply again: %v", err)
		}
		if err != nil {
			if diff := cmp.Diff(asJSON(s.state), asJSON(after)); diff != "" {
				t.Fatalf("an invalid event changed the state:\n%s", diff)
			}
		}
	})
}

// Commands stay under 10 KB and states under 100 KB.
func TestCommandsAndStatesAreSmall(t *testing.T) {
	checkRuns(t, func(t *rapid.T, s *simulation) {
		for _, st := range s.states {
			if n := len(asJSON(st)); n > 100<<10 {
				t.Fatalf("a state of %d bytes", n)
			}
			for _, c := range schedule.Decide(s.plan, st) {
				if n := len(asJSON(c)); n > 10<<10 {
					t.Fatalf("a command of %d bytes: %s", n, asJSON(c))
				}
			}
		}
	})
}

// maxFuzzed bounds the size of an input, because the whole state is encoded after each line of the journal.
const maxFuzzed = 20 << 10

// FuzzFold folds any journal of any plan. An invalid event changes nothing and returns an error. After every other
// event Decide returns, and both its commands and the state survive a JSON round trip.
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

// checkRoundTrip checks that a state survives a JSON round trip and leads to the same commands afterwards.
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
	_, err = progress.Apply(p, s, event.Event{Type: "of_another_version", Critical: true})
	require(t, err != nil, "an unknown event that must be understood is taken")
}

package schedule_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/progress"
	"github.com/dodo-digital/agent-pipelines/kernel/schedule"
	"github.com/dodo-digital/agent-pipelines/kernel/state"
)

// maxTransitions is far above the number that three runs of four nodes of four iterations, retries, crashes and
// resumes can need.
const maxTransitions = 15000

// U070, D3: every run ends or pauses after a bounded number of transitions.
func TestEveryRunEndsOrPauses(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		start(t, drawPlan(t)).run(maxTransitions)
	})
}

// U047: folding any prefix of a journal, read back from its lines, gives exactly the state of the live run, and the
// same commands.
func TestReplayEqualsLiveRun(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := start(t, drawPlan(t))
		s.run(maxTransitions)
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

// DESIGN 8: a copy of the state at an event boundary is complete: continuing from its JSON gives the same result.
func TestStateCopyIsComplete(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := start(t, drawPlan(t))
		s.run(maxTransitions)
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
	rapid.Check(t, func(t *rapid.T) {
		s := start(t, drawPlan(t))
		s.run(maxTransitions)
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
	rapid.Check(t, func(t *rapid.T) {
		s := start(t, drawPlan(t))
		s.run(maxTransitions)
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
	rapid.Check(t, func(t *rapid.T) {
		s := start(t, drawPlan(t))
		s.run(maxTransitions)
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

// DESIGN 8: commands under 10 KB, states under 100 KB.
func TestCommandsAndStatesAreSmall(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := start(t, drawPlan(t))
		s.run(maxTransitions)
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

package kernel

import (
	"context"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/kernel/state"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
)

// datedJournal is a journal whose time differs from the process's time, as after a change of the system's clock. The
// time of the journal never goes back, as in a real journal.
type datedJournal struct {
	*journal
	by   func(line int) time.Duration
	last time.Time
}

func (j *datedJournal) Append(ctx context.Context, events ...event.Event) ([]event.Event, error) {
	events, err := j.journal.Append(ctx, events...)
	for i := range events {
		t := events[i].Time.Add(j.by(len(j.events)))
		if t.Before(j.last) {
			t = j.last
		}
		j.last, events[i].Time = t, t
	}
	return events, err
}

// A change of the system's clock before or during the run changes neither a delay nor the limit of the run's time.
func TestClockChanges(t *testing.T) {
	const day = 24 * time.Hour
	for name, by := range map[string]func(line int) time.Duration{
		"not":                  func(int) time.Duration { return 0 },
		"back, before the run": func(int) time.Duration { return day }, // the journal is ahead
		"forward in the run": func(line int) time.Duration {
			if line > 5 {
				return day
			}
			return 0
		},
		"back in the run": func(line int) time.Duration {
			if line > 5 {
				return -day
			}
			return 0
		},
	} {
		for limit, want := range map[time.Duration]state.Status{0: state.Completed, 90 * time.Minute: state.Failed, 4 * time.Hour: state.Completed} {
			runBubble(t, name+", limit "+limit.String(), func(t *testing.T) {
				p, j := twoStages(), &datedJournal{journal: &journal{}, by: by}
				hour := 3600.0
				p.Nodes[0].Delay = &hour
				if limit > 0 {
					p.Pipeline.Guardrails = &plan.Guardrails{MaxRuntimeSeconds: limit.Seconds()}
				}
				slow := fakeEffects{attempt: func(ctx context.Context, w EffectRequest) event.Event {
					select {
					case <-time.After(40 * time.Minute):
						return completeEvent(w)
					case <-ctx.Done():
						return failedEvent(w, context.Cause(ctx))
					}
				}}
				started := time.Now()
				st := startState(t, p, j.journal)
				for i := range j.events { // those of startState, too
					j.events[i].Time = j.events[i].Time.Add(by(i + 1))
				}
				st.StartedAt = st.StartedAt.Add(by(1))
				j.last = st.StartedAt
				st, err := Run(t.Context(), Config{Plan: p, Journal: j, Effects: slow}, st)
				took := time.Since(started)
				wantTook := 3 * time.Hour
				if want == state.Failed {
					wantTook = limit
				}
				require(t, err == nil && st.Status == want && took == wantTook, st.Status, took, wantTook, err)
			})
		}
	}
}

// If the machine runs out of a resource, the run pauses, whichever effect failed, and the effect is repeated after
// the resume.
func TestSystemFailure(t *testing.T) {
	full := failure.New(failure.StateCorrupt, "keep it: %w", syscall.ENOSPC)
	data := event.NewFailureData(full)
	for name, failing := range map[string]fakeEffects{
		"an attempt": {attempt: func(_ context.Context, w EffectRequest) event.Event {
			e := event.New(event.Error, w.Command.Location.Cursor(), w.Command.Key, data)
			e.Attempt = w.Command.Attempt
			return e
		}},
		"a decision": {strategy: func(_ context.Context, w EffectRequest) event.Event {
			return event.New(event.Decision, w.Command.Location.Cursor(), w.Command.Key, event.DecisionData{Action: "error", Failure: &data})
		}},
	} {
		runBubble(t, name, func(t *testing.T) {
			p, j := twoStages(), &journal{}
			st, err := Run(t.Context(), Config{Plan: p, Journal: j, Effects: failing}, startState(t, p, j))
			if err != nil || st.Status != state.Paused || st.PauseKind != state.PauseError || st.PauseReason != full.Message+"; free some space, then continue (state_corrupt)" {
				t.Fatalf("%+v, %v", st, err)
			}
			again := event.New(event.SessionResumed, nil, "", event.SessionResumedData{})
			cfg := Config{Plan: p, Journal: j, Effects: fakeEffects{}}
			r := &runner{cfg: cfg, st: st, deadlines: deadlines{}}
			if err := r.commit(t.Context(), again); err != nil {
				t.Fatal(err)
			}
			st, err = Run(t.Context(), cfg, r.st)
			require(t, err == nil && st.Status == state.Completed, st.Status, err)
			done := 0
			for _, kind := range j.types() {
				if kind == event.IterationComplete {
					done++
				}
			}
			compare(t, 3, done)
		})
	}
}

// U090: when the run's time is used up, every effect in flight is cancelled with the guardrail as its cause. The run
// waits for these effects, and no event follows the event that ends the run.
func TestGuardrailCancels(t *testing.T) {
	tests := []struct {
		name  string
		world fakeEffects
		last  []event.Type
	}{
		{"an attempt", fakeEffects{attempt: untilCancelled}, []event.Type{"timer_fired", "error", "node_complete"}},
		{"a decision", fakeEffects{strategy: slowStrategy(time.Hour)}, []event.Type{"timer_fired", "decision", "node_complete"}},
		{"an attempt that does not listen", fakeEffects{attempt: func(_ context.Context, w EffectRequest) event.Event {
			time.Sleep(time.Minute)
			return completeEvent(w)
		}}, []event.Type{"iteration_complete", "decision", "node_complete"}},
	}
	for _, tt := range tests {
		runBubble(t, tt.name, func(t *testing.T) {
			p, j := twoStages(), &journal{}
			p.Pipeline = plan.Pipeline{Name: "short", Guardrails: &plan.Guardrails{MaxRuntimeSeconds: 1.5, Source: "p.yaml:2:1"}}
			started := time.Now()
			st := must(Run(t.Context(), Config{Plan: p, Journal: j, Effects: tt.world}, startState(t, p, j)))
			want := `pipeline "short" exceeded its max_runtime_seconds: it ran 1.5s of 1.5s (guardrails, p.yaml:2:1)`
			require(t, st.Status == state.Failed && st.Failure.ErrorType == "iteration_timeout" && st.Failure.Message == want, st.Status, st.Failure)
			types := j.types()
			compare(t, tt.last, types[len(types)-3:])
			if took := time.Since(started); took != 1500*time.Millisecond && took != time.Minute {
				t.Errorf("took %s", took)
			}
		})
	}
}

// A guardrail does not delay a run that ends in time.
func TestGuardrailThatIsNotReached(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, j := twoStages(), &journal{}
		p.Pipeline.Guardrails = &plan.Guardrails{MaxRuntimeSeconds: 3600}
		started := time.Now()
		st, err := Run(t.Context(), Config{Plan: p, Journal: j, Effects: fakeEffects{}}, startState(t, p, j))
		require(t, err == nil && st.Status == state.Completed && time.Since(started) == 3*time.Second, st.Status, time.Since(started), err)
	})
}

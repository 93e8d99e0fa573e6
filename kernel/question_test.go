package kernel

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/kernel/state"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
)

func toolQuestion(w EffectRequest, callID string, due time.Duration) event.Event {
	d := event.QuestionAskedData{
		ID: event.ToolQuestionID(w.Command.Location, callID), Kind: event.QuestionTool, Digest: callID, Text: "run it?",
		Options: []string{"approve", "reject"}, AcceptFeedback: true,
	}
	if due > 0 {
		at := time.Now().Add(due)
		d.Due = &at
	}
	return event.New(event.QuestionAsked, w.Command.Location.Cursor(), w.Command.Key, d)
}

// delayedAnswer is an answer to a question of the first iteration, or a stop of the run, sent from outside after a
// while.
type delayedAnswer struct {
	after        time.Duration
	call, option string
	stop         event.Event // instead of an answer
}

// runAttended runs one stage of one iteration in a session that waits for the user.
func runAttended(t *testing.T, attempt func(context.Context, EffectRequest) event.Event, answers ...delayedAnswer) (state.State, *journal, []error) {
	t.Helper()
	p := &plan.Plan{Version: 1, Nodes: []plan.Node{{Path: "0", ID: "a", Kind: plan.KindStage, Termination: plan.Termination{"type": "fixed", "max": 1}}}}
	j := &journal{}
	st := startState(t, p, j)
	st.Waits = true
	control := make(chan event.Event)
	var sending sync.WaitGroup
	sending.Go(func() {
		for _, a := range answers {
			time.Sleep(a.after)
			e := a.stop
			if a.call != "" {
				e = event.New(event.QuestionAnswered, nil, "", event.QuestionAnsweredData{
					ID: event.ToolQuestionID(event.Location{Node: "0", Visit: 1, Run: 1, Iteration: 1}, a.call), Answer: a.option, Digest: a.call, By: "ann",
				})
			}
			control <- e
		}
	})
	var refused []error
	st, err := Run(t.Context(), Config{
		Plan: p, Journal: j, Effects: fakeEffects{attempt: attempt}, Control: control, OnRefused: func(_ event.Event, err error) { refused = append(refused, err) },
	}, st)
	if err != nil {
		t.Fatal(err)
	}
	sending.Wait()
	return st, j, refused
}

func (j *journal) answers(t *testing.T) []event.QuestionAnsweredData {
	t.Helper()
	var all []event.QuestionAnsweredData
	for _, e := range j.events {
		if e.Type != event.QuestionAnswered {
			continue
		}
		d := must(event.Decode[event.QuestionAnsweredData](e))
		all = append(all, d)
	}
	return all
}

// An attempt waits for the user's answer, but no longer than the question's deadline, which is a time of day.
func TestAskWaitsForTheUser(t *testing.T) {
	for _, tt := range []struct {
		name    string
		due     time.Duration
		answers []delayedAnswer
		want    event.QuestionAnsweredData
		took    time.Duration
	}{
		{"answered", 0, []delayedAnswer{{after: time.Hour, call: "1", option: "approve"}}, event.QuestionAnsweredData{Answer: "approve", By: "ann"}, time.Hour},
		{"answered in time", 2 * time.Hour, []delayedAnswer{{after: time.Hour, call: "1", option: "reject"}}, event.QuestionAnsweredData{Answer: "reject", By: "ann"}, time.Hour},
		{"not in time", 5 * time.Minute, nil, event.QuestionAnsweredData{Answer: "reject", Expired: true}, 5 * time.Minute},
	} {
		runBubble(t, tt.name, func(t *testing.T) {
			var got event.QuestionAnsweredData
			var took time.Duration
			st, j, _ := runAttended(t, func(ctx context.Context, w EffectRequest) event.Event {
				began := time.Now()
				a, err := w.Ask(ctx, toolQuestion(w, "1", tt.due))
				if err != nil {
					t.Error(err)
				}
				got, took = a, time.Since(began)
				return completeEvent(w)
			}, tt.answers...)
			tt.want.ID, tt.want.Digest = event.ToolQuestionID(event.Location{Node: "0", Visit: 1, Run: 1, Iteration: 1}, "1"), "1"
			compare(t, tt.want, got)
			compare(t, tt.took, took)
			compare(t, []event.QuestionAnsweredData{tt.want}, j.answers(t))
			require(t, st.Status == state.Completed && st.Questions == nil, st.Status, st.Questions)
		})
	}
}

// If an answer arrives at the moment of the deadline, only the journaled answer counts.
func TestOneAnswerCounts(t *testing.T) {
	for range 20 {
		synctest.Test(t, func(t *testing.T) {
			var got event.QuestionAnsweredData
			_, j, refused := runAttended(t, func(ctx context.Context, w EffectRequest) event.Event {
				a, err := w.Ask(ctx, toolQuestion(w, "1", time.Minute))
				if err != nil {
					t.Error(err)
				}
				got = a
				time.Sleep(time.Second)
				return completeEvent(w)
			}, delayedAnswer{after: time.Minute, call: "1", option: "approve"})
			compare(t, []event.QuestionAnsweredData{got}, j.answers(t))
			require(t, got.Expired == (len(refused) == 1), refused)
		})
	}
}

// Several calls of an attempt ask concurrently and are answered in any order; the same call asks only once.
func TestConcurrentQuestions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		words := map[string]string{}
		runAttended(t, func(ctx context.Context, w EffectRequest) event.Event {
			var mu sync.Mutex
			var all sync.WaitGroup
			for _, call := range []string{"1", "2", "3"} {
				all.Go(func() {
					a, err := w.Ask(ctx, toolQuestion(w, call, 0))
					mu.Lock()
					defer mu.Unlock()
					if words[call] = a.Answer; err != nil {
						t.Error(err)
					}
				})
			}
			synctest.Wait()
			if _, err := w.Ask(ctx, toolQuestion(w, "2", 0)); failure.KindOf(err) != failure.PluginInvalid {
				t.Errorf("asked twice: %v", err)
			}
			all.Wait()
			return completeEvent(w)
		}, delayedAnswer{after: time.Second, call: "3", option: "reject"}, delayedAnswer{after: time.Second, call: "1", option: "approve"}, delayedAnswer{after: time.Second, call: "2", option: "approve"})
		compare(t, map[string]string{"1": "approve", "2": "approve", "3": "reject"}, words)
	})
}

// U050: a pause does not wait for an attempt with an open question; the attempt is repeated after the resume.
func TestPauseEndsAQuestion(t *testing.T) {
	for _, kind := range []string{"user", "signal", "approval"} {
		runBubble(t, kind, func(t *testing.T) {
			began := time.Now()
			st, _, _ := runAttended(t, func(ctx context.Context, w EffectRequest) event.Event {
				_, err := w.Ask(ctx, toolQuestion(w, "1", time.Hour))
				if failure.KindOf(err) != failure.SignalInterrupt || failure.From(err).Message != "the run was paused while a question was open: run it?" {
					t.Errorf("error %v", err)
				}
				return failedEvent(w, err)
			}, delayedAnswer{after: time.Second, stop: controlEvent("pause", kind)})
			l := st.Nodes["0"].Loop
			if st.Status != state.Paused || string(st.PauseKind) != kind || len(st.Questions) != 0 || l.Phase != state.PhaseReady || time.Since(began) != time.Second {
				t.Errorf("status %s %s, phase %s, after %s, questions %v", st.Status, st.PauseKind, l.Phase, time.Since(began), st.Questions)
			}
		})
	}
}

// A pause requested earlier does not wait for a later question.
func TestQuestionAfterAPause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		st, _, _ := runAttended(t, func(ctx context.Context, w EffectRequest) event.Event {
			time.Sleep(time.Minute)
			_, err := w.Ask(ctx, toolQuestion(w, "1", time.Hour))
			return failedEvent(w, err)
		}, delayedAnswer{after: time.Second, stop: controlEvent("pause", "user")})
		require(t, st.Status == state.Paused && time.Since(began) == time.Minute, st.Status, time.Since(began))
	})
}

// U052: an abort does not wait for the user.
func TestAbortEndsAQuestion(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		st, _, _ := runAttended(t, func(ctx context.Context, w EffectRequest) event.Event {
			_, err := w.Ask(ctx, toolQuestion(w, "1", time.Hour))
			if f := (*failure.Error)(nil); !errors.As(err, &f) || f.Kind != failure.Aborted {
				t.Errorf("error %v", err)
			}
			return failedEvent(w, err)
		}, delayedAnswer{after: time.Second, stop: controlEvent("abort", "")})
		require(t, st.Status == state.Aborted && len(st.Questions) == 0 && time.Since(began) == time.Second, st.Status, time.Since(began), st.Questions)
	})
}

package schedule_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/kernel/progress"
	"github.com/dodo-digital/agent-pipelines/kernel/schedule"
	"github.com/dodo-digital/agent-pipelines/kernel/state"
)

// endHook ends the hook that a command calls.
func (h *history) endHook(c schedule.Command, d event.HookCompleteData) {
	h.t.Helper()
	d.Hook, d.Point, d.Action = c.Hook, string(c.Point), "drawn"
	h.add(event.New(event.HookComplete, c.Location.Cursor(), c.Key, d))
}

// U241: a text from the start of a nested pipeline is for every prompt in that pipeline and for none after it.
func TestTextOfANestedPipeline(t *testing.T) {
	p := nestedPlan()
	p.Nodes = append(p.Nodes, plan.Node{Path: "3", ID: "after", Kind: plan.KindStage, Termination: plan.Termination{"max": 1}})
	h := newHistory(t, withHooks(p, plan.Hook{Point: plan.PointStageStart, Stage: "again"}))
	var texts []string
	for range 60 {
		switch c := h.commit(); c.Kind {
		case schedule.Hook:
			h.answerHook("modify_context", "inner")
		case schedule.Attempt:
			if c.Location.Branch == "" {
				texts = append(texts, strings.TrimSpace(c.Location.Node+" "+injectedText(h.state, c.Location)))
			}
			h.complete(c, "")
		case schedule.Strategy:
			h.add(event.New(event.Decision, c.Location.Cursor(), c.Key, event.DecisionData{Action: "stop"}))
		case schedule.WriteManifest:
			h.add(event.New(event.ArtifactWritten, c.Location.Cursor(), c.Key, event.ArtifactWrittenData{Name: event.Manifest}))
		}
	}
	got, want := strings.Join(texts, ", "), "0, 2.0 inner, 2.0 inner, 3"
	require(t, got == want && h.state.Status == state.Completed, h.state, got)
}

// The first answer wins: the hook may already be acting on it.
func TestSecondAnswer(t *testing.T) {
	h := newHistory(t, withHooks(stages(plan.Node{ID: "a"}), plan.Hook{Point: plan.PointStageEnd}))
	h.iterate("")
	h.decide("stop")
	q := h.askQuestion(event.QuestionSupervise, true)
	h.commit()
	h.add(answerEvent(q, event.AnswerApprove, ""))
	for _, e := range []event.Event{answerEvent(q, event.AnswerReject, ""), answerEvent(q, event.AnswerReject, "better"), answerEvent(q, event.AnswerApprove, "more")} {
		if _, err := progress.Apply(h.plan, h.state, e); !errors.Is(err, progress.ErrInvalidTransition) {
			t.Errorf("%s is taken: %v", e.Data, err)
		}
	}
}

// A pause at the end of a failed stage continues with the next hook, and then the run fails. After a resume the stage
// is retried and ends again: earlier checks no longer count.
func TestPauseAfterFailure(t *testing.T) {
	h := newHistory(t, withHooks(stages(plan.Node{ID: "a"}), plan.Hook{Point: plan.PointStageEnd}, plan.Hook{Point: plan.PointStageEnd}))
	fail := func() {
		h.fail(h.commit(), event.FailureData{ErrorType: "provider_missing", Message: "no"})
	}
	fail()
	first := h.startHook()
	h.endHook(first, event.HookCompleteData{Answer: "pause", Outcome: "fail", Failure: &event.FailureData{ErrorType: "check_failed", Message: "no"}})
	h.commit()
	h.requireStatus(state.Paused)
	h.resume()
	c := h.answerHook("continue", "")
	require(t, c.Hook == 2, c)
	h.commit()
	h.requireStatus(state.Failed)
	h.resume()
	fail()
	q := h.askQuestion(event.QuestionConfirm, false)
	h.commit()
	h.add(answerEvent(q, event.AnswerApprove, ""))
	h.resume()
	c = h.commit()
	require(t, c.Kind == schedule.Hook && event.QuestionID(c.Key) == q.ID, c)
	h.answerHook("continue", "")
	h.answerHook("continue", "")
	h.commit()
	h.resume()
	h.iterate("")
	h.decide("stop")
	again := h.answerHook("continue", "")
	require(t, again.Key != first.Key && again.Point == plan.PointStageEnd, first.Key, again.Key)
	h.answerHook("continue", "")
	h.commit()
	h.requireStatus(state.Completed)
}

// A pause after the failed work of a provider in a block continues with the next hook, and then the run fails.
func TestPauseAfterFailureOfAProvider(t *testing.T) {
	p := nestedPlan()
	p.Pipeline.Guardrails, p.Nodes = nil, p.Nodes[1:2]
	p.Nodes[0].Path, p.Nodes[0].Guardrails, p.Nodes[0].Providers = "0", nil, p.Nodes[0].Providers[:1]
	p.Nodes[0].Stages = []plan.Node{{Path: "0.0", ID: "write", Kind: plan.KindStage, Termination: plan.Termination{"max": 1}}}
	h := newHistory(t, withHooks(p, plan.Hook{Point: plan.PointParallelProviderEnd}, plan.Hook{Point: plan.PointParallelProviderEnd}))
	h.fail(h.commit(), event.FailureData{ErrorType: "provider_missing", Message: "no"})
	first := h.answerHook("pause", "")
	h.commit()
	h.resume()
	c := h.answerHook("continue", "")
	require(t, c.Hook == 2, c)
	h.commit()
	h.requireStatus(state.Failed)
	h.resume()
	h.iterate("")
	h.decide("stop")
	again := h.answerHook("continue", "")
	require(t, again.Key != first.Key && again.Point == plan.PointParallelProviderEnd, first.Key, again.Key)
}

// A pause at the end of a successful stage continues with the next hook; finished calls are kept.
func TestPauseAfterSuccess(t *testing.T) {
	h := newHistory(t, withHooks(stages(plan.Node{ID: "a"}), plan.Hook{Point: plan.PointStageEnd}, plan.Hook{Point: plan.PointStageEnd}))
	h.iterate("")
	h.decide("stop")
	h.answerHook("pause", "")
	h.commit()
	h.resume()
	c := h.answerHook("continue", "")
	require(t, c.Hook == 2, c)
	h.commit()
	h.requireStatus(state.Completed)
}

// A rejection survives a crash before the paused session ends; so does a hook's stop, also if the user requests the
// same stop. The user's own stop must be repeated.
func TestStopsSurviveACrash(t *testing.T) {
	h := newHistory(t, withHooks(stages(plan.Node{ID: "a"}), plan.Hook{Point: plan.PointStageStart}))
	q := h.askQuestion(event.QuestionConfirm, false)
	h.commit()
	h.add(answerEvent(q, event.AnswerReject, ""))
	h.resume()
	h.commit()
	h.requireStatus(state.Aborted)
	for action, want := range map[string]state.Status{"pause": state.Paused, "abort": state.Aborted} {
		for _, userAsks := range []bool{false, true} {
			h := newHistory(t, withHooks(stages(plan.Node{ID: "a"}), plan.Hook{Point: plan.PointStageStart}))
			h.answerHook(action, "")
			if userAsks {
				h.add(event.New(event.Control, nil, "", event.ControlData{ID: "1", Action: action}))
			}
			h.resume()
			h.commit()
			h.requireStatus(want)
		}
	}
}

// A pausing run cancels an attempt with several open questions, with the same cause each time.
func TestUnansweredCancelsAreStable(t *testing.T) {
	h := newHistory(t, stages(plan.Node{ID: "a"}))
	h.allowWaiting()
	c := h.commit()
	for _, id := range []string{"a", "b", "c", "d"} {
		e := toolQuestion(c, id)
		d, _ := event.Decode[event.QuestionAskedData](e)
		d.Text = "make call " + id
		h.add(event.New(event.QuestionAsked, e.Cursor, e.Key, d))
	}
	h.add(event.New(event.Control, nil, "", event.ControlData{ID: "1", Action: "pause"}))
	want := asJSON(schedule.Decide(h.plan, h.state))
	for range 50 {
		got := asJSON(schedule.Decide(h.plan, h.state))
		require(t, got == want, want, got)
	}
}

// A question about work that a guardrail has ended is closed: an answer would have no meaning, or end a run that
// continued.
func TestGuardrailClosesQuestions(t *testing.T) {
	for _, point := range []plan.HookPoint{plan.PointStageStart, plan.PointIterationStart, plan.PointIterationEnd} {
		h := newHistory(t, withHooks(stages(plan.Node{ID: "a", Guardrails: newGuardrails(10)}), plan.Hook{Point: point}, plan.Hook{Point: plan.PointStageEnd}))
		h.allowWaiting()
		if point == plan.PointIterationEnd {
			h.iterate("")
		}
		h.askQuestion(event.QuestionConfirm, false)
		for key := range h.state.Timers {
			h.fireGuardrail(key, 0)
		}
		for _, c := range schedule.Decide(h.plan, h.state) { // this decision replaces the strategy's
			if c.Kind == schedule.Record {
				h.add(*c.Event)
			}
		}
		c := h.commit()
		require(t, c.Point == plan.PointStageEnd, point, c)
		open := h.state.UnansweredQuestions()
		require(t, len(open) == 0, point, fmt.Sprint(open))
	}
}

// If an end hook is still running when its block begins again, its answer does not count at the block's next end.
func TestHookOfAnEarlierRound(t *testing.T) {
	p := withHooks(&plan.Plan{Version: plan.Version, Nodes: []plan.Node{{
		Path: "0", ID: "b", Kind: plan.KindParallel, Stages: []plan.Node{singleStage("0.0", "work")}, Providers: []plan.BlockProvider{{Name: "m1"}},
	}}}, plan.Hook{Point: plan.PointStageEnd}, plan.Hook{Point: plan.PointStageEnd})
	loc := event.Location{Node: "0", Visit: 1, Run: 1}
	s := state.State{Identity: state.Identity{RunID: "r", Session: "s"}, Lifecycle: state.Lifecycle{Status: state.Running}, Position: state.Position{At: "0", Nodes: map[string]state.Node{"0": {
		NodeProgress: state.NodeProgress{Visit: 1, Run: 1, Status: state.NodeRunning}, HookCursor: state.HookCursor{Point: string(plan.PointStageEnd), Done: 1},
		NodeLoops: state.NodeLoops{Branches: map[string]state.Branch{"m1": {Status: state.NodeFailed, Loop: state.Loop{Progress: state.Progress{Phase: state.PhaseSettled, Iteration: 1, Attempt: 1}, LoopOutcome: state.LoopOutcome{Outcome: "fail"}}}}},
	}}}}
	again := event.New(event.Retry, loc.Cursor(), loc.Key(event.KeyRestart, 2), event.RetryData{N: 2, Rung: event.RungStage})
	s = must(progress.Apply(p, s, again))
	begins := event.New(event.HookStart, loc.Cursor(), loc.Key(event.KeyHook, 2), event.HookStartData{Hook: 2, Point: string(plan.PointStageEnd)})
	if _, err := progress.Apply(p, s, begins); !errors.Is(err, progress.ErrInvalidTransition) {
		t.Errorf("it is taken: %v\n%s", err, asJSON(s))
	}
}

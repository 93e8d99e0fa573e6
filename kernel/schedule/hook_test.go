package schedule_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/kernel/progress"
	"github.com/dodo-digital/agent-pipelines/kernel/schedule"
	"github.com/dodo-digital/agent-pipelines/kernel/state"
)

// withHooks returns a plan with hooks, numbered in order.
func withHooks(p *plan.Plan, hooks ...plan.Hook) *plan.Plan {
	for i := range hooks {
		hooks[i].Number = i + 1
	}
	p.Pipeline.Hooks = hooks
	return p
}

// startHook begins the due hook.
func (h *history) startHook() schedule.Command {
	h.t.Helper()
	c := h.commit()
	require(h.t, c.Kind == schedule.Hook, c)
	h.add(event.New(event.HookStart, c.Location.Cursor(), c.Key, event.HookStartData{Hook: c.Hook, Point: string(c.Point)}))
	return c
}

// answerHook ends the due hook with an answer and a text for the agent.
func (h *history) answerHook(answer, text string) schedule.Command {
	h.t.Helper()
	c := h.startHook()
	d := event.HookCompleteData{Hook: c.Hook, Point: string(c.Point), Action: "drawn", Answer: answer}
	if text != "" {
		d.Context = &event.Ref{Path: text}
	}
	h.add(event.New(event.HookComplete, c.Location.Cursor(), c.Key, d))
	return c
}

// askQuestion makes the due hook ask the user.
func (h *history) askQuestion(kind string, feedback bool) event.QuestionAskedData {
	h.t.Helper()
	c := h.startHook()
	d := event.QuestionAskedData{
		ID: event.QuestionID(c.Key), Hook: c.Hook, Point: string(c.Point), Kind: kind, Digest: fmt.Sprint("digest ", h.state.Seq),
		Text: "Continue?", Options: []string{event.AnswerApprove, event.AnswerReject}, AcceptFeedback: feedback,
	}
	h.add(event.New(event.QuestionAsked, c.Location.Cursor(), c.Key, d))
	return d
}

func answerEvent(q event.QuestionAskedData, answer, text string) event.Event {
	return event.New(event.QuestionAnswered, nil, "", event.QuestionAnsweredData{ID: q.ID, Digest: q.Digest, Answer: answer, Text: text, By: "ada"})
}

func injectedText(s state.State, loc event.Location) string {
	var all []string
	for _, ref := range s.InjectedTexts(loc) {
		all = append(all, ref.Path)
	}
	return strings.Join(all, " ")
}

// U240, U243: the hooks of each point are called at their place, for the nodes that they name.
func TestHookPoints(t *testing.T) {
	p := withHooks(stages(plan.Node{ID: "a"}, plan.Node{ID: "b"}),
		plan.Hook{Point: plan.PointSessionStart}, plan.Hook{Point: plan.PointStageStart, Stage: "b"},
		plan.Hook{Point: plan.PointIterationStart, Stage: "a"}, plan.Hook{Point: plan.PointIterationEnd, Stage: "a"},
		plan.Hook{Point: plan.PointStageEnd}, plan.Hook{Point: plan.PointSessionEnd})
	h := newHistory(t, p)
	var got []string
	for range 40 {
		c := h.commit()
		switch c.Kind {
		case schedule.Hook:
			got = append(got, fmt.Sprintf("%s %s i%d", c.Point, c.Location.Node, c.Location.Iteration))
			h.answerHook("continue", "")
		case schedule.Attempt:
			got = append(got, "attempt "+c.Location.Node)
			h.complete(c, "")
		case schedule.Strategy:
			got = append(got, "strategy "+c.Location.Node)
			h.decide("stop")
		}
	}
	want := []string{
		"session_start  i0", "iteration_start 0 i1", "attempt 0", "iteration_end 0 i1", "strategy 0", "stage_end 0 i1",
		"stage_start 1 i0", "attempt 1", "strategy 1", "stage_end 1 i1", "session_end  i0",
	}
	compare(t, want, got)
	h.requireStatus(state.Completed)
}

// U241: the text of a hook stays in the prompts until the work that begins at its point has ended.
func TestScopeOfHookTexts(t *testing.T) {
	points := []plan.HookPoint{plan.PointSessionStart, plan.PointStageStart, plan.PointIterationStart, plan.PointIterationEnd, plan.PointStageEnd}
	var hooks []plan.Hook
	for _, point := range points {
		hooks = append(hooks, plan.Hook{Point: point})
	}
	h := newHistory(t, withHooks(stages(plan.Node{ID: "a"}, plan.Node{ID: "b"}), hooks...))
	var texts []string
	for range 60 {
		c := h.commit()
		switch c.Kind {
		case schedule.Hook:
			h.answerHook("modify_context", fmt.Sprintf("%s%s.%d", c.Point, c.Location.Node, c.Location.Iteration))
		case schedule.Attempt:
			texts = append(texts, injectedText(h.state, c.Location))
			h.complete(c, "")
		case schedule.Strategy:
			action := "stop"
			if c.Location.Node == "0" && c.Location.Iteration == 1 {
				action = "continue"
			}
			h.decide(action)
			if action == "continue" {
				h.fireTimer()
			}
		}
	}
	want := []string{
		"session_start.0 stage_start0.0 iteration_start0.1",
		"session_start.0 stage_start0.0 iteration_end0.1 iteration_start0.2",
		"session_start.0 iteration_end0.2 stage_end0.2 stage_start1.0 iteration_start1.1",
	}
	compare(t, want, texts)
}

// U247, U253: a question pauses the run, and its answer is used after the resume: the stage does not run again.
func TestConfirm(t *testing.T) {
	p := withHooks(stages(plan.Node{ID: "a"}, plan.Node{ID: "b"}), plan.Hook{Point: plan.PointStageEnd, Stage: "a"})
	h := newHistory(t, p)
	h.iterate("")
	h.decide("stop")
	q := h.askQuestion(event.QuestionSupervise, true)
	h.commit()
	require(t, h.state.Status == state.Paused && h.state.PauseKind == state.PauseApproval, h.state)
	h.resume() // the question is still open
	h.commit()
	require(t, h.state.Status == state.Paused && slices.Equal(h.state.UnansweredQuestions(), []string{q.ID}), q.ID, h.state)
	h.add(answerEvent(q, event.AnswerApprove, "well done"))
	h.resume()
	c := h.commit()
	h.add(event.New(event.HookComplete, c.Location.Cursor(), c.Key, event.HookCompleteData{Hook: c.Hook, Point: string(c.Point), Answer: "continue", Question: q.ID}))
	next := h.commit()
	require(t, next.Kind == schedule.Attempt && next.Location.Node == "1", next)
	compare(t, []string{"a"}, h.state.ApprovedStages)
	require(t, h.state.Context == "well done" && len(h.state.Questions) == 0, h.state)
	h.complete(next, "")
	compare(t, "", h.state.Context)
}

// An answer that does not match the shown question does not count.
func TestAnswersThatDoNotCount(t *testing.T) {
	p := withHooks(stages(plan.Node{ID: "a"}), plan.Hook{Point: plan.PointStageEnd})
	h := newHistory(t, p)
	h.iterate("")
	h.decide("stop")
	q := h.askQuestion(event.QuestionConfirm, false)
	other := q
	for name, e := range map[string]event.Event{
		"another question": answerEvent(event.QuestionAskedData{ID: "q-0", Digest: q.Digest}, event.AnswerApprove, ""),
		"an old digest":    func() event.Event { other.Digest = "old"; return answerEvent(other, event.AnswerApprove, "") }(),
		"another option":   answerEvent(q, "perhaps", ""),
		"feedback":         answerEvent(q, event.AnswerReject, "better"),
	} {
		e.Seq = h.state.Seq + 1
		if _, err := progress.Apply(p, h.state, e); !errors.Is(err, progress.ErrInvalidTransition) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// U252: a rejection without text ends the session, with text it restarts the stage.
func TestReject(t *testing.T) {
	begin := func() (*history, event.QuestionAskedData) {
		h := newHistory(t, withHooks(stages(plan.Node{ID: "a"}, plan.Node{ID: "b"}), plan.Hook{Point: plan.PointStageEnd, Stage: "a"}))
		h.iterate("")
		h.decide("stop")
		q := h.askQuestion(event.QuestionSupervise, true)
		return h, q
	}
	h, q := begin()
	h.commit()
	h.add(answerEvent(q, event.AnswerReject, ""))
	h.commit()
	require(t, h.state.Status == state.Aborted && strings.Contains(h.state.Reason, "rejected stage output: Continue?"), h.state)
	h, q = begin()
	h.commit()
	h.add(answerEvent(q, event.AnswerReject, "shorter"))
	h.resume()
	c := h.commit()
	h.add(event.New(event.HookComplete, c.Location.Cursor(), c.Key, event.HookCompleteData{
		Hook: c.Hook, Point: string(c.Point), Answer: "restart_stage", Question: q.ID, Context: &event.Ref{Path: "feedback"},
	}))
	again := h.commit()
	if again.Kind != schedule.Attempt || again.Location.Node != "0" || again.Location.Visit != 2 || again.Location.Iteration != 1 || injectedText(h.state, again.Location) != "feedback" {
		t.Errorf("due is %s, with %q", asJSON(again), injectedText(h.state, again.Location))
	}
}

// A restarted node keeps the texts from before its entry. Its own start hooks are called again, and their new texts
// replace the old ones.
func TestTextsOfARestartedNode(t *testing.T) {
	h := newHistory(t, withHooks(stages(plan.Node{ID: "a"}, plan.Node{ID: "b"}),
		plan.Hook{Point: plan.PointStageStart, Stage: "b"}, plan.Hook{Point: plan.PointStageEnd}))
	h.iterate("")
	h.decide("stop")
	h.answerHook("modify_context", "entry")
	h.answerHook("modify_context", "start")
	h.iterate("")
	h.decide("stop")
	h.answerHook("restart_stage", "again")
	h.answerHook("modify_context", "start2")
	compare(t, "entry again start2", injectedText(h.state, h.commit().Location))
}

// K31: a hook that always restarts its node leads to a question to the user at the node's limit.
func TestRestartLimit(t *testing.T) {
	for _, tt := range []struct {
		feedback *plan.Feedback
		want     int
	}{
		{nil, 3}, {&plan.Feedback{Enabled: true}, 3}, {&plan.Feedback{Enabled: true, Max: 1}, 1}, {&plan.Feedback{Enabled: true, Max: 10}, 10}, {&plan.Feedback{Max: 2}, 0},
	} {
		n := plan.Node{ID: "a"}
		if tt.feedback != nil {
			n.Policy = &plan.Policy{Feedback: tt.feedback}
		}
		h := newHistory(t, withHooks(stages(n), plan.Hook{Point: plan.PointStageEnd}))
		round := func(c schedule.Command) schedule.Command {
			h.complete(c, "")
			h.decide("stop")
			h.answerHook("restart_stage", "")
			return h.commit()
		}
		c := h.commit()
		for range tt.want {
			c = round(c)
			require(t, h.state.Status == state.Running, h.state)
		}
		round(c)
		require(t, h.state.Status == state.Paused && h.state.PauseKind == state.PauseEscalation, h.state)
		h.resume()
		c = h.commit()
		require(t, c.Kind == schedule.Attempt && c.Location.Visit == tt.want+2, c)
	}
}

// A hook that a crash interrupted is called again with the same key; a hook that has answered is not.
func TestHookAfterACrash(t *testing.T) {
	h := newHistory(t, withHooks(stages(plan.Node{ID: "a"}), plan.Hook{Point: plan.PointStageStart}, plan.Hook{Point: plan.PointStageStart}))
	first := h.answerHook("continue", "")
	cut := h.startHook()
	h.resume()
	again := h.answerHook("continue", "")
	require(t, again.Key == cut.Key && again.Key != first.Key, first.Key, cut.Key, again.Key)
	c := h.commit()
	require(t, c.Kind == schedule.Attempt, c)
}

// A stage that failed and was resumed ends again: its hooks are called again, under new keys.
func TestHooksAfterAResumedFailure(t *testing.T) {
	h := newHistory(t, withHooks(stages(plan.Node{ID: "a"}), plan.Hook{Point: plan.PointStageEnd}, plan.Hook{Point: plan.PointSessionEnd}))
	h.fail(h.commit(), event.FailureData{ErrorType: "provider_missing", Message: "no"})
	first := h.answerHook("continue", "")
	h.answerHook("continue", "")
	h.commit()
	h.requireStatus(state.Failed)
	h.resume()
	h.iterate("")
	h.decide("stop")
	again := h.answerHook("continue", "")
	require(t, again.Key != first.Key && again.Point == plan.PointStageEnd, first.Key, again.Key)
	end := h.answerHook("continue", "")
	require(t, end.Point == plan.PointSessionEnd, end)
	h.commit()
	h.requireStatus(state.Completed)
}

// U249: a guardrail that fires during a hook waits for the hook.
func TestGuardrailWaitsForAHook(t *testing.T) {
	p := withHooks(stages(plan.Node{ID: "a", Guardrails: &plan.Guardrails{MaxRuntimeSeconds: 60}}), plan.Hook{Point: plan.PointIterationEnd})
	h := newHistory(t, p)
	h.iterate("")
	c := h.startHook()
	for key := range h.state.Timers {
		h.add(event.Event{Type: event.TimerFired, Key: key})
	}
	require(t, h.loop().Phase == state.PhaseDecide && h.state.IsHookRunning(), h.loop().Phase)
	h.add(event.New(event.HookComplete, c.Location.Cursor(), c.Key, event.HookCompleteData{Hook: c.Hook, Point: string(c.Point), Answer: "continue"}))
	for _, c := range schedule.Decide(p, h.state) { // this decision replaces the strategy's
		if c.Kind == schedule.Record {
			h.add(*c.Event)
		}
	}
	h.commit()
	require(t, h.state.Status == state.Failed && h.state.Failure.ErrorType == "iteration_timeout", h.state)
}

// A failed check of a stage_end hook fails the stage. After the resume the hook is called again, but not the agent.
func TestCheckAtTheEnd(t *testing.T) {
	h := newHistory(t, withHooks(stages(plan.Node{ID: "a"}), plan.Hook{Point: plan.PointStageEnd}))
	h.iterate("")
	h.decide("stop")
	c := h.startHook()
	h.add(event.New(event.HookComplete, c.Location.Cursor(), c.Key, event.HookCompleteData{
		Hook: c.Hook, Point: string(c.Point), Answer: "continue", Outcome: "fail", Failure: &event.FailureData{ErrorType: "check_failed", Message: "2 tests fail"},
	}))
	h.commit()
	require(t, h.state.Status == state.Failed && h.state.Nodes["0"].Outcome == string(plan.OutcomeFail), h.state)
	h.resume()
	h.answerHook("continue", "")
	h.commit()
	h.requireStatus(state.Completed)
}

// Feedback that arrives during an attempt is for the next prompt.
func TestFeedbackWaitsForAPrompt(t *testing.T) {
	h := newHistory(t, stages(plan.Node{ID: "a"}))
	say := func(text string) {
		h.add(event.New(event.Control, nil, "", event.ControlData{ID: text, Action: "feedback", Text: text}))
	}
	say("early")
	c := h.commit()
	say("late")
	compare(t, "early\nlate", h.state.Context)
	h.complete(c, "")
	compare(t, "late", h.state.Context)
}

// If the user can answer meanwhile, the run keeps running.
func TestWaiting(t *testing.T) {
	h := newHistory(t, withHooks(stages(plan.Node{ID: "a"}), plan.Hook{Point: plan.PointStageStart}))
	h.allowWaiting()
	h.askQuestion(event.QuestionConfirm, false)
	c := h.commit()
	require(t, c.Kind == "" && h.state.Status == state.Running && len(h.state.UnansweredQuestions()) == 1, c, h.state)
}

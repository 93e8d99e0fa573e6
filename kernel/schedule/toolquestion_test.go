package schedule_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/kernel/progress"
	"github.com/dodo-digital/agent-pipelines/kernel/schedule"
	"github.com/dodo-digital/agent-pipelines/kernel/state"
)

// allowWaiting makes the next kernel wait for the user's answers.
func (h *history) allowWaiting() {
	h.t.Helper()
	e := event.New(event.KernelStart, nil, "", event.KernelStartData{PID: 8, Version: "test", Waits: true})
	e.Epoch = h.state.Epoch + 1
	h.add(e)
}

func toolQuestion(c schedule.Command, callID string) event.Event {
	return event.New(event.QuestionAsked, c.Location.Cursor(), c.Key, event.QuestionAskedData{
		ID: event.ToolQuestionID(c.Location, callID), Kind: event.QuestionTool, Digest: "d-" + callID, Text: "the agent wants to run write",
		Options: []string{event.AnswerApprove, event.AnswerReject}, AcceptFeedback: true,
	})
}

func toolAnswer(c schedule.Command, callID, option, text string) event.Event {
	return event.New(event.QuestionAnswered, nil, "", event.QuestionAnsweredData{
		ID: event.ToolQuestionID(c.Location, callID), Answer: option, Text: text, Digest: "d-" + callID,
	})
}

// The answer to a tool question goes to the attempt; it changes nothing else, and the question is closed.
func TestToolQuestionIsAnswered(t *testing.T) {
	for _, tt := range []struct{ name, option, text string }{
		{"approved", "approve", ""}, {"refused", "reject", ""}, {"refused with text", "reject", "use git rm"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			h := newHistory(t, stages(plan.Node{}))
			h.allowWaiting()
			c := h.commit()
			h.add(toolQuestion(c, "1"))
			h.add(toolQuestion(c, "2"))
			got := h.state.UnansweredQuestions()
			require(t, len(got) == 2, got)
			before := h.loop()
			h.add(toolAnswer(c, "1", tt.option, tt.text))
			compare(t, []string{event.ToolQuestionID(c.Location, "2")}, h.state.UnansweredQuestions())
			compare(t, before, h.loop())
			require(t, h.state.Stop == nil && h.state.Context == "" && len(schedule.Decide(h.plan, h.state)) == 0, h.state)
		})
	}
}

// An answer counts once, for the shown digest, and only if it was offered; a question of an ended attempt is not
// opened.
func TestInvalidToolQuestions(t *testing.T) {
	for _, tt := range []struct {
		name  string
		event func(h *history, c schedule.Command) event.Event
	}{
		{"a second answer", func(h *history, c schedule.Command) event.Event {
			h.add(toolAnswer(c, "1", "approve", ""))
			return toolAnswer(c, "1", "reject", "")
		}},
		{"to something else", func(_ *history, c schedule.Command) event.Event {
			return event.New(event.QuestionAnswered, nil, "", event.QuestionAnsweredData{ID: event.ToolQuestionID(c.Location, "1"), Answer: "approve", Digest: "other"})
		}},
		{"another option", func(_ *history, c schedule.Command) event.Event { return toolAnswer(c, "1", "skip", "") }},
		{"after the attempt", func(h *history, c schedule.Command) event.Event {
			h.complete(c, "")
			return toolAnswer(c, "1", "approve", "")
		}},
		{"asked after the attempt", func(h *history, c schedule.Command) event.Event {
			h.complete(c, "")
			return toolQuestion(c, "2")
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			h := newHistory(t, stages(plan.Node{}))
			h.allowWaiting()
			c := h.commit()
			h.add(toolQuestion(c, "1"))
			e := tt.event(h, c)
			if _, err := progress.Apply(h.plan, h.state, e); !errors.Is(err, progress.ErrInvalidTransition) {
				t.Errorf("error %v", err)
			}
		})
	}
}

// A question ends with its attempt; the question of another provider of the block stays open.
func TestToolQuestionEndsWithItsAttempt(t *testing.T) {
	for _, tt := range []struct {
		name string
		end  func(h *history, c schedule.Command)
		open int
	}{
		{"it completes", func(h *history, c schedule.Command) { h.complete(c, "") }, 1},
		{"it fails", func(h *history, c schedule.Command) { h.fail(c, event.FailureData{ErrorType: "provider_failed"}) }, 1},
		{"the kernel dies", func(h *history, _ schedule.Command) { h.allowWaiting() }, 0},
		{"the run is aborted", func(h *history, _ schedule.Command) {
			h.add(event.New(event.SessionAborted, nil, "", event.SessionAbortedData{}))
		}, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			stage := stages(plan.Node{}).Nodes[0]
			stage.Path = "0.0"
			h := newHistory(t, &plan.Plan{Version: plan.Version, Nodes: []plan.Node{{
				Path: "0", ID: "both", Kind: plan.KindParallel, Providers: []plan.BlockProvider{{Name: "a"}, {Name: "b"}}, Stages: []plan.Node{stage},
			}}})
			h.allowWaiting()
			under := map[event.Key]schedule.Command{}
			for len(under) < 2 {
				for _, c := range schedule.Decide(h.plan, h.state) {
					if _, started := under[c.Key]; !started {
						if h.add(*c.Event); c.Kind == schedule.Attempt {
							under[c.Key] = c
							h.add(toolQuestion(c, "1"))
						}
						break
					}
				}
			}
			open := h.state.UnansweredQuestions()
			require(t, len(open) == 2, open)
			for _, c := range under {
				if c.Location.Branch == "a" {
					tt.end(h, c)
				}
			}
			got := h.state.UnansweredQuestions()
			require(t, len(got) == tt.open, got)
		})
	}
}

// The state does not grow with the number of tool questions.
func TestToolQuestionsAreRemoved(t *testing.T) {
	h := newHistory(t, stages(plan.Node{}))
	h.allowWaiting()
	c := h.commit()
	sizes := []int{}
	for i := range 200 {
		id := fmt.Sprintf("call-%03d", i)
		option, verdict := "approve", "run"
		if i%2 == 0 {
			option, verdict = "reject", "deny"
		}
		h.add(toolQuestion(c, id))
		h.add(toolAnswer(c, id, option, ""))
		h.add(event.New(event.ToolCall, c.Location.Cursor(), c.Key, event.ToolCallData{CallID: id, Tool: "write", Verdict: verdict, Question: "q-1"}))
		if verdict == "run" {
			h.add(event.New(event.ToolResult, c.Location.Cursor(), c.Key, event.ToolResultData{CallID: id, Status: "success"}))
		}
		h.add(event.New(event.Checkpoint, c.Location.Cursor(), c.Key, event.CheckpointData{Turn: 100 + i, Blob: event.Ref{Path: "blob"}}))
		measured := h.state
		measured.Seq = 0
		b := must(json.Marshal(measured))
		sizes = append(sizes, len(b))
	}
	require(t, slices.Max(sizes) == sizes[0] && len(h.state.Questions) == 0 && len(h.loop().Calls) == 0, sizes[0], slices.Max(sizes), h.state)
}

// With on_timeout set to escalate, the attempt ends and the user is asked without a time limit. Approval repeats it.
func TestUnansweredCallEscalates(t *testing.T) {
	unanswered := event.FailureData{ErrorType: "approval_required", Message: "the agent wants to run write: no answer came in time", Escalate: true}
	begin := func(t *testing.T, waits bool) (*history, schedule.Command) {
		h := newHistory(t, stages(plan.Node{}))
		if waits {
			h.allowWaiting()
		}
		c := h.commit()
		h.fail(c, unanswered)
		h.commit()
		q, asked := h.state.Questions[event.QuestionID(c.Key)]
		if want := unanswered.Message + "; iteration 1 of n0 was interrupted and may have had effects; resume repeats it, abort ends the run"; !asked || q.Kind != event.QuestionEscalation || q.Text != want || q.Due != nil {
			t.Fatalf("question %+v", q)
		}
		return h, c
	}
	again := func(t *testing.T, h *history) {
		t.Helper()
		if c := h.commit(); c.Kind != schedule.Attempt || c.Attempt != 1 || c.Location.Iteration != 1 || h.loop().Failure != nil || len(h.state.Questions) != 0 {
			t.Errorf("due after the answer: %s, state %s", asJSON(c), asJSON(h.state))
		}
	}
	t.Run("waiting", func(t *testing.T) {
		h, c := begin(t, true)
		h.requireStatus(state.Running)
		q := h.state.Questions[event.QuestionID(c.Key)]
		h.add(event.New(event.QuestionAnswered, nil, "", event.QuestionAnsweredData{ID: event.QuestionID(c.Key), Answer: "approve", Digest: q.Digest}))
		again(t, h)
	})
	t.Run("session does not wait", func(t *testing.T) {
		h, _ := begin(t, false)
		require(t, h.state.Status == state.Paused && h.state.PauseKind == state.PauseEscalation, h.state)
		h.resume()
		again(t, h)
	})
}

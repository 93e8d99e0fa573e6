package schedule_test

import (
	"fmt"
	"maps"

	"pgregory.net/rapid"

	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/kernel/progress"
	"github.com/dodo-digital/agent-pipelines/kernel/schedule"
)

// drawHooks draws hooks at any points, numbered in order.
func drawHooks(t *rapid.T) []plan.Hook {
	if rapid.IntRange(0, 2).Draw(t, "hooks") > 0 {
		return nil
	}
	var hooks []plan.Hook
	for _, point := range plan.HookPoints {
		for range rapid.IntRange(0, 3).Draw(t, "at "+string(point)) / 2 {
			hooks = append(hooks, plan.Hook{
				Number: len(hooks) + 1, Point: point, Action: "drawn",
				Stage: rapid.SampledFrom([]string{"", "", "n0", "n1"}).Draw(t, "stage"),
			})
		}
	}
	return hooks
}

func drawCallbacks(t *rapid.T) []string {
	if rapid.IntRange(0, 3).Draw(t, "callbacks") > 0 {
		return nil
	}
	return rapid.SliceOfN(rapid.SampledFrom([]string{"session_start", "stage_end", "iteration_end", "iteration_start"}), 1, 3).Draw(t, "points")
}

// finishHook lets a called hook begin, be skipped, ask, or answer.
func (s *simulation) finishHook(c schedule.Command, begun bool) {
	if !begun {
		s.beginHook(c)
		return
	}
	delete(s.inFlight, c.Key)
	delete(s.begun, c.Key)
	if s.isSuperseded(c) {
		return
	}
	id := event.QuestionID(c.Key)
	answered := s.state.Questions[id].Answer != nil
	if rapid.IntRange(0, 3).Draw(s.t, "asks") == 0 && (!answered || rapid.IntRange(0, 3).Draw(s.t, "changed") == 0) {
		s.append(event.New(event.QuestionAsked, c.Location.Cursor(), c.Key, event.QuestionAskedData{
			ID: id, Hook: c.Hook, Point: string(c.Point), Kind: event.QuestionConfirm, Digest: fmt.Sprint(s.state.Seq), Text: "Continue?",
			Options: []string{"approve", "reject"}, AcceptFeedback: rapid.Bool().Draw(s.t, "feedback"),
		}))
		return
	}
	d := event.HookCompleteData{
		Hook: c.Hook, Point: string(c.Point), Action: "drawn",
		Answer: rapid.SampledFrom([]string{"continue", "continue", "continue", "modify_context", "pause", "abort", "restart_stage"}).Draw(s.t, "answer"),
	}
	if answered {
		d.Question = id
	}
	if d.Answer == "modify_context" || d.Answer == "restart_stage" {
		d.Context = &event.Ref{Path: "hooks/" + fmt.Sprint(s.state.Seq), Size: 3}
	}
	if rapid.IntRange(0, 5).Draw(s.t, "fails") == 0 {
		d.Failure = &event.FailureData{ErrorType: drawErrorType(s.t), Message: "no"}
		d.Outcome = rapid.SampledFrom([]string{"", "fail"}).Draw(s.t, "outcome")
	}
	s.append(event.New(rapid.SampledFrom([]event.Type{event.HookComplete, event.HookTimeout}).Draw(s.t, "end"), c.Location.Cursor(), c.Key, d))
}

// isSuperseded reports whether the user continued the run while the hook was working. An escalation that an earlier
// kernel asked may be answered while a callback of the new kernel is working. A runtime then records the hook's end as
// a late delivery.
func (s *simulation) isSuperseded(c schedule.Command) bool {
	if !s.resumed[c.Key] {
		return false
	}
	delete(s.resumed, c.Key)
	probe := event.New(event.HookComplete, c.Location.Cursor(), c.Key, event.HookCompleteData{Hook: c.Hook, Point: string(c.Point), Answer: "continue"})
	_, err := progress.Apply(s.plan, s.state, probe)
	return isInvalidTransition(err)
}

// beginHook begins a hook whose condition is evaluated, or skips it. The run may have continued meanwhile, because a
// guardrail does not wait for a condition. A runtime then records a late delivery.
func (s *simulation) beginHook(c schedule.Command) {
	probe := event.New(event.HookStart, c.Location.Cursor(), c.Key, event.HookStartData{Hook: c.Hook, Point: string(c.Point)})
	if _, err := progress.Apply(s.plan, s.state, probe); isInvalidTransition(err) {
		delete(s.inFlight, c.Key)
		return
	}
	if rapid.IntRange(0, 2).Draw(s.t, "skipped") == 0 {
		delete(s.inFlight, c.Key)
		e := event.New(event.HookSkipped, c.Location.Cursor(), c.Key, event.HookSkippedData{Hook: c.Hook, Point: string(c.Point), Reason: "drawn"})
		e.Volatile = true
		s.append(e)
		return
	}
	s.begun[c.Key] = true
	s.append(event.New(event.HookStart, c.Location.Cursor(), c.Key, event.HookStartData{Hook: c.Hook, Point: string(c.Point), Action: "drawn"}))
}

// answerPerson answers an open question as the user, and reports whether there was one.
func (s *simulation) answerPerson() bool {
	open := s.state.UnansweredQuestions()
	if len(open) == 0 {
		return false
	}
	id := rapid.SampledFrom(open).Draw(s.t, "question")
	q := s.state.Questions[id]
	d := event.QuestionAnsweredData{
		ID: id, Digest: q.Digest, Control: fmt.Sprint("a", s.state.Seq),
		Answer: rapid.SampledFrom([]string{"approve", "approve", "approve", "reject"}).Draw(s.t, "person"),
	}
	if d.Answer == "approve" || q.AcceptFeedback {
		d.Text = rapid.SampledFrom([]string{"", "do it better"}).Draw(s.t, "text")
	}
	s.append(event.New(event.QuestionAnswered, nil, q.Key, d))
	if q.Kind == event.QuestionEscalation {
		maps.Copy(s.resumed, s.begun)
	}
	return true
}

package progress

import (
	"cmp"
	"fmt"

	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/kernel/state"
)

// isAtHookPoint reports whether the run is at a hook point of the location.
func isAtHookPoint(s *state.State, point plan.HookPoint, loc event.Location) bool {
	switch point {
	case plan.PointSessionStart:
		return len(s.Nodes) == 0
	case plan.PointSessionEnd:
		return true
	}
	n, ok := s.Nodes[s.At]
	if !ok || loc.Outer() != s.At || n.Status != state.NodeRunning || loc.Visit != n.Visit {
		return false
	}
	b := n.Branches[loc.Branch]
	ref, found := n.FindLoop(loc)
	l := ref.Loop
	switch point {
	case plan.PointStageStart:
		return !n.HasBegun()
	case plan.PointStageEnd:
		return n.IsBlock() || n.Loop.Phase == state.PhaseSettled
	case plan.PointParallelProviderStart:
		return b.Status == state.NodeRunning && b.Stage == 0 && b.Loop.IsFresh()
	case plan.PointParallelProviderEnd:
		return b.Status == state.NodeRunning && b.Loop.Phase == state.PhaseSettled
	case plan.PointIterationEnd:
		return found && l.Phase == state.PhaseDecide && loc.Iteration == l.Completed
	default:
		return found && l.Phase == state.PhaseReady && l.Attempt == 0 && loc.Iteration == l.Completed+1
	}
}

// hookRef names a hook by its point and its number there.
type hookRef struct {
	point  string
	number int
}

// updateCursor changes the hook cursor of the hook's point. It returns an error unless the event is about the hook and
// the hook is due at the point and has not answered.
func updateCursor(s *state.State, e event.Event, hook hookRef, change func(*state.HookCursor)) (event.Location, error) {
	kind, loc, n, ok := e.Key.Parse()
	if !ok || kind != event.KeyHook || n%state.HookRoundStep != hook.number {
		return loc, invalidTransition(e, fmt.Sprintf("key %q is not that of hook %d", e.Key, hook.number))
	}
	point := plan.HookPoint(hook.point)
	if !isAtHookPoint(s, point, loc) {
		return loc, invalidTransition(e, "the run is not at "+hook.point+" of "+loc.Node)
	}
	var err error
	s.UpdateHooks(point, loc, func(h *state.Hooks) {
		cursor := h.HookCursor.AtPoint(point, loc.Iteration)
		switch {
		case cursor.Round != n/state.HookRoundStep:
			err = invalidTransition(e, "the run is not at "+hook.point+" of "+loc.Node)
		case s.Status != state.Running:
			err = invalidTransition(e, "the session is "+string(s.Status))
		case hook.number <= cursor.Done:
			err = invalidTransition(e, fmt.Sprintf("hook %d has answered already", hook.number))
		default:
			change(&cursor)
			h.HookCursor = cursor
		}
	})
	return loc, err
}

func applyHookStart(_ *plan.Plan, s *state.State, e event.Event, d event.HookStartData) error {
	_, err := updateCursor(s, e, hookRef{d.Point, d.Hook}, func(cursor *state.HookCursor) { cursor.Firing = d.Hook })
	return err
}

func applyHookSkipped(_ *plan.Plan, s *state.State, e event.Event, d event.HookSkippedData) error {
	_, err := updateCursor(s, e, hookRef{d.Point, d.Hook}, func(cursor *state.HookCursor) { cursor.Done, cursor.Firing = d.Hook, 0 })
	return err
}

// applyHookEnd applies the end of a hook: it stores the hook's text and acts on its answer. A hook that was cancelled
// because the run stops is called again after the resume.
func applyHookEnd(p *plan.Plan, s *state.State, e event.Event, d event.HookCompleteData) error {
	interrupted := s.Stop != nil && d.Failure != nil && causedByStop(d.Failure)
	loc, err := updateCursor(s, e, hookRef{d.Point, d.Hook}, func(cursor *state.HookCursor) {
		cursor.Firing = 0
		if !interrupted {
			cursor.Done = d.Hook
		}
	})
	if err != nil || interrupted {
		return err
	}
	if q, asked := s.Questions[d.Question]; asked {
		applyApproval(p, s, loc, q)
		delete(s.Questions, d.Question)
	}
	if plan.HookPoint(d.Point) == plan.PointSessionEnd {
		return nil // the session is over: an answer has no effect
	}
	applyHookAnswer(s, loc, d)
	return nil
}

// applyApproval keeps the text of the user's approval, and the id of a supervised stage that was approved.
func applyApproval(p *plan.Plan, s *state.State, loc event.Location, q state.Question) {
	if q.Answer == nil || q.Answer.Option != event.AnswerApprove {
		return
	}
	s.AppendContext(q.Answer.Text)
	if n := p.Find(loc.Node); q.Kind == event.QuestionSupervise && n != nil {
		s.ApprovedStages = append(s.ApprovedStages, n.ID)
	}
}

// applyHookAnswer applies a hook's answer to the run, and stores its text for the prompts.
func applyHookAnswer(s *state.State, loc event.Location, d event.HookCompleteData) {
	by := fmt.Sprintf("hook %s at %s", d.Action, d.Point)
	n, entered := s.Nodes[s.At]
	entered = entered && loc.Node != ""
	point := plan.HookPoint(d.Point)
	restart := d.Answer == event.HookRestartStage && entered && point != plan.PointStageStart
	switch {
	case d.Context == nil:
	case restart || point == plan.PointStageEnd || point == plan.PointParallelProviderEnd: // for the next visit or node
		s.NextInjected = append(s.NextInjected, *d.Context)
	default:
		s.UpdateHooks(point, loc, func(h *state.Hooks) { h.Injected = append(h.Injected, *d.Context) })
		n = s.Nodes[s.At]
	}
	switch {
	case restart:
		n.Restart = &state.Restart{Reason: d.Reason, Rejected: d.Action == plan.ActionConfirm}
	case d.Answer == event.HookPause && (s.Stop == nil || s.Stop.Action != "abort"):
		s.Stop = &state.Stop{Action: "pause", Kind: state.PauseHook, Reason: d.Reason, By: by, Hook: true}
	case d.Answer == event.HookAbort:
		s.Stop = &state.Stop{Action: "abort", Reason: cmp.Or(d.Reason, "a hook ended the run"), By: by, Hook: true}
	}
	if d.Outcome != "" && point == plan.PointStageEnd {
		n.Failure = d.Failure
	}
	if entered {
		s.Nodes[s.At] = n
	}
}

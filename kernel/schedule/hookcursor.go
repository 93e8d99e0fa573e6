package schedule

import (
	"cmp"
	"fmt"

	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/kernel/state"
)

// This file applies the events of hooks.

// cursorSlot is a hook cursor of the state with a function that stores it.
type cursorSlot struct {
	cursor state.HookCursor
	put    func(state.HookCursor)
}

// findCursor returns the slot of a point's cursor, false if the run is not at the point.
func findCursor(s *state.State, point plan.HookPoint, loc event.Location) (cursorSlot, bool) {
	if point == plan.PointSessionStart || point == plan.PointSessionEnd {
		return cursorSlot{s.HookCursor.AtPoint(point, 0), func(cursor state.HookCursor) { s.HookCursor = cursor }}, point == plan.PointSessionEnd || len(s.Nodes) == 0
	}
	n, ok := s.Nodes[s.At]
	if !ok || loc.Outer() != s.At || n.Status != state.NodeRunning || loc.Visit != n.Visit {
		return cursorSlot{}, false
	}
	switch point {
	case plan.PointStageStart, plan.PointStageEnd:
		reached := !n.HasBegun()
		if point == plan.PointStageEnd {
			reached = n.IsBlock() || n.Loop.Phase == state.PhaseSettled
		}
		return cursorSlot{n.HookCursor.AtPoint(point, loc.Iteration), func(cursor state.HookCursor) {
			n := s.Nodes[s.At]
			n.HookCursor = cursor
			s.Nodes[s.At] = n
		}}, reached
	case plan.PointParallelProviderStart, plan.PointParallelProviderEnd:
		b := n.Branches[loc.Branch]
		reached := b.Stage == 0 && b.Loop.IsFresh()
		if point == plan.PointParallelProviderEnd {
			reached = b.Loop.Phase == state.PhaseSettled
		}
		return cursorSlot{b.HookCursor.AtPoint(point, loc.Iteration), func(cursor state.HookCursor) {
			b := s.Nodes[s.At].Branches[loc.Branch]
			b.HookCursor = cursor
			s.Nodes[s.At].Branches[loc.Branch] = b
		}}, reached && b.Status == state.NodeRunning
	default:
		ref, ok := n.FindLoop(loc)
		l := ref.Loop
		reached := l.Phase == state.PhaseReady && l.Attempt == 0 && loc.Iteration == l.Completed+1
		if point == plan.PointIterationEnd {
			reached = l.Phase == state.PhaseDecide && loc.Iteration == l.Completed
		}
		return cursorSlot{ref.Loop.HookCursor.AtPoint(point, loc.Iteration), func(cursor state.HookCursor) {
			n := s.Nodes[s.At]
			ref, _ := n.FindLoop(loc)
			ref.Loop.HookCursor = cursor
			n.SetLoop(loc, ref.Loop)
			s.Nodes[s.At] = n
		}}, ok && reached
	}
}

// pendingCursor returns the slot of the cursor at which the event's hook is called and has not answered.
func pendingCursor(s *state.State, e event.Event, point string, number int) (cursorSlot, event.Location, error) {
	kind, loc, n, ok := e.Key.Parse()
	if !ok || kind != event.KeyHook || n%state.HookRoundStep != number {
		return cursorSlot{}, loc, invalidTransition(e, fmt.Sprintf("key %q is not that of hook %d", e.Key, number))
	}
	slot, found := findCursor(s, plan.HookPoint(point), loc)
	if !found || slot.cursor.Round != n/state.HookRoundStep {
		return cursorSlot{}, loc, invalidTransition(e, "the run is not at "+point+" of "+loc.Node)
	}
	if s.Status != state.Running {
		return cursorSlot{}, loc, invalidTransition(e, "the session is "+string(s.Status))
	}
	if number <= slot.cursor.Done {
		return cursorSlot{}, loc, invalidTransition(e, fmt.Sprintf("hook %d has answered already", number))
	}
	return slot, loc, nil
}

// updateCursor changes the cursor at which the event's hook is called.
func updateCursor(s *state.State, e event.Event, point string, number int, change func(*state.HookCursor)) error {
	slot, _, err := pendingCursor(s, e, point, number)
	if err != nil {
		return err
	}
	change(&slot.cursor)
	slot.put(slot.cursor)
	return nil
}

func applyHookStart(s *state.State, e event.Event) error {
	d, err := event.Decode[event.HookStartData](e)
	if err != nil {
		return err
	}
	return updateCursor(s, e, d.Point, d.Hook, func(cursor *state.HookCursor) { cursor.Firing = d.Hook })
}

func applyHookSkipped(s *state.State, e event.Event) error {
	d, err := event.Decode[event.HookSkippedData](e)
	if err != nil {
		return err
	}
	return updateCursor(s, e, d.Point, d.Hook, func(cursor *state.HookCursor) { cursor.Done, cursor.Firing = d.Hook, 0 })
}

// applyHookQuestion records the question of a confirm hook: its action is over until the answer arrives.
func applyHookQuestion(s *state.State, e event.Event, d event.QuestionAskedData) error {
	return updateCursor(s, e, d.Point, d.Hook, func(cursor *state.HookCursor) { cursor.Firing = 0 })
}

// applyHookEnd applies the end of a hook: it stores the hook's text and acts on its answer. A hook that was cancelled
// because the run stops is called again after the resume.
func applyHookEnd(p *plan.Plan, s *state.State, e event.Event) error {
	d, err := event.Decode[event.HookCompleteData](e)
	if err != nil {
		return err
	}
	slot, loc, err := pendingCursor(s, e, d.Point, d.Hook)
	if err != nil {
		return err
	}
	slot.cursor.Firing = 0
	if s.Stop != nil && d.Failure != nil && causedByStop(d.Failure) {
		slot.put(slot.cursor)
		return nil
	}
	slot.cursor.Done = d.Hook
	slot.put(slot.cursor)
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

// applyApproval keeps the text of the user's approval and the name of the approved stage.
func applyApproval(p *plan.Plan, s *state.State, loc event.Location, q state.Question) {
	if q.Answer == nil || q.Answer.Option != event.AnswerApprove {
		return
	}
	s.AppendContext(q.Answer.Text)
	if n := p.Find(loc.Node); q.Kind == event.QuestionSupervise && n != nil {
		s.ApprovedStages = append(s.ApprovedStages, n.ID)
	}
}

// applyHookAnswer applies a hook's answer to the run.
func applyHookAnswer(s *state.State, loc event.Location, d event.HookCompleteData) {
	by := fmt.Sprintf("hook %s at %s", d.Action, d.Point)
	n, entered := s.Nodes[s.At]
	entered = entered && loc.Node != ""
	restart := d.Answer == event.HookRestartStage && entered && plan.HookPoint(d.Point) != plan.PointStageStart
	if d.Context != nil {
		addInjection(s, plan.HookPoint(d.Point), loc, *d.Context, restart)
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
	if d.Outcome != "" && plan.HookPoint(d.Point) == plan.PointStageEnd {
		n.Failure = d.Failure
	}
	if entered {
		s.Nodes[s.At] = n
	}
}

// addInjection stores a hook's text: at a start for the work that begins, at an end for the next node. The text for a
// restarted stage is for its next visit.
func addInjection(s *state.State, point plan.HookPoint, loc event.Location, text event.Ref, restart bool) {
	n := s.Nodes[s.At]
	switch {
	case point == plan.PointSessionStart:
		s.Injected = append(s.Injected, text)
		return
	case restart || point == plan.PointStageEnd || point == plan.PointParallelProviderEnd:
		s.NextInjected = append(s.NextInjected, text)
		return
	case point == plan.PointStageStart:
		n.Injected = append(n.Injected, text)
	case point == plan.PointParallelProviderStart:
		b := n.Branches[loc.Branch]
		b.Injected = append(b.Injected, text)
		n.Branches[loc.Branch] = b
	default:
		ref, ok := n.FindLoop(loc)
		if !ok {
			return
		}
		ref.Loop.Injected = append(ref.Loop.Injected, text)
		n.SetLoop(loc, ref.Loop)
	}
	s.Nodes[s.At] = n
}

// clearFiring clears the hook calls of a kernel that has died.
func clearFiring(s *state.State) {
	s.HookCursor.Firing = 0
	for path, n := range s.Nodes {
		if n.Status != state.NodeRunning {
			continue
		}
		n.HookCursor.Firing = 0
		for id, b := range n.Branches {
			b.HookCursor.Firing = 0
			n.Branches[id] = b
		}
		s.Nodes[path] = n
	}
}

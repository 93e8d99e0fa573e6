package schedule

import (
	"fmt"

	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/kernel/state"
)

// What happens at a hook point: Apply's half.

// gateSlot is a gate in the state, with the way back into it.
type gateSlot struct {
	gate state.HookCursor
	put  func(state.HookCursor)
}

// gateAt is where the gate of a point is kept, if the run is there.
func gateAt(s *state.State, point plan.HookPoint, at event.Location) (gateSlot, bool) {
	if point == plan.PointSessionStart || point == plan.PointSessionEnd {
		return gateSlot{entered(s.Gate, point, 0), func(g state.HookCursor) { s.Gate = g }}, point == plan.PointSessionEnd || len(s.Nodes) == 0
	}
	n, ok := s.Nodes[s.At]
	if !ok || at.Outer() != s.At || n.Status != state.NodeRunning || at.Visit != n.Visit {
		return gateSlot{}, false
	}
	switch point {
	case plan.PointStageStart, plan.PointStageEnd:
		there := !begun(n)
		if point == plan.PointStageEnd {
			there = isBlock(n) || n.Loop.Phase == state.PhaseSettled
		}
		return gateSlot{entered(n.Gate, point, at.Iteration), func(g state.HookCursor) {
			n := s.Nodes[s.At]
			n.Gate = g
			s.Nodes[s.At] = n
		}}, there
	case plan.PointParallelProviderStart, plan.PointParallelProviderEnd:
		b := n.Branches[at.Branch]
		there := b.Stage == 0 && fresh(b.Loop)
		if point == plan.PointParallelProviderEnd {
			there = b.Loop.Phase == state.PhaseSettled
		}
		return gateSlot{entered(b.Gate, point, at.Iteration), func(g state.HookCursor) {
			b := s.Nodes[s.At].Branches[at.Branch]
			b.Gate = g
			s.Nodes[s.At].Branches[at.Branch] = b
		}}, there && b.Status == state.NodeRunning
	default:
		found, ok := loopAt(n, at)
		l := found.loop
		there := l.Phase == state.PhaseReady && l.Attempt == 0 && at.Iteration == l.Completed+1
		if point == plan.PointIterationEnd {
			there = l.Phase == state.PhaseDecide && at.Iteration == l.Completed
		}
		return gateSlot{entered(found.loop.Gate, point, at.Iteration), func(g state.HookCursor) {
			n := s.Nodes[s.At]
			found, _ := loopAt(n, at)
			found.loop.Gate = g
			setLoop(&n, at, found.loop)
			s.Nodes[s.At] = n
		}}, ok && there
	}
}

// waitingGate is the gate at which the event's hook is called, which has not answered yet.
func waitingGate(s *state.State, e event.Event, point string, number int) (gateSlot, event.Location, error) {
	kind, at, n, ok := e.Key.Parse()
	if !ok || kind != event.KeyHook || n%roundStep != number {
		return gateSlot{}, at, misfit(e, fmt.Sprintf("its key %q is not that of hook %d", e.Key, number))
	}
	slot, found := gateAt(s, plan.HookPoint(point), at)
	if !found || slot.gate.Round != n/roundStep {
		return gateSlot{}, at, misfit(e, "the run is not at "+point+" of "+at.Node)
	}
	if s.Status != state.Running {
		return gateSlot{}, at, misfit(e, "the session is "+string(s.Status))
	}
	if number <= slot.gate.Done {
		return gateSlot{}, at, misfit(e, fmt.Sprintf("hook %d has answered already", number))
	}
	return slot, at, nil
}

// atGate changes the gate at which the event's hook is called.
func atGate(s *state.State, e event.Event, point string, number int, change func(*state.HookCursor)) error {
	slot, _, err := waitingGate(s, e, point, number)
	if err != nil {
		return err
	}
	change(&slot.gate)
	slot.put(slot.gate)
	return nil
}

func applyHookStart(s *state.State, e event.Event) error {
	d, err := event.Decode[event.HookStartData](e)
	if err != nil {
		return err
	}
	return atGate(s, e, d.Point, d.Hook, func(g *state.HookCursor) { g.Firing = d.Hook })
}

func applyHookSkipped(s *state.State, e event.Event) error {
	d, err := event.Decode[event.HookSkippedData](e)
	if err != nil {
		return err
	}
	return atGate(s, e, d.Point, d.Hook, func(g *state.HookCursor) { g.Done, g.Firing = d.Hook, 0 })
}

// applyAsking serves the question that a confirm asks: its action is over until somebody answers.
func applyAsking(s *state.State, e event.Event, d event.QuestionAskedData) error {
	return atGate(s, e, d.Point, d.Hook, func(g *state.HookCursor) { g.Firing = 0 })
}

// applyHookEnd is the end of a hook: its text goes where it is for, and the run goes on as it answered. A hook that
// was cancelled because the run stops is called again when it goes on.
func applyHookEnd(p *plan.Plan, s *state.State, e event.Event) error {
	d, err := event.Decode[event.HookCompleteData](e)
	if err != nil {
		return err
	}
	slot, at, err := waitingGate(s, e, d.Point, d.Hook)
	if err != nil {
		return err
	}
	slot.gate.Firing = 0
	if s.Stop != nil && d.Failure != nil && byStop(d.Failure) {
		slot.put(slot.gate)
		return nil
	}
	slot.gate.Done = d.Hook
	slot.put(slot.gate)
	if q, asked := s.Questions[d.Question]; asked {
		takeAnswer(p, s, at, q)
		delete(s.Questions, d.Question)
	}
	if plan.HookPoint(d.Point) == plan.PointSessionEnd {
		return nil // nothing is left to do anything to
	}
	follows(s, at, d)
	return nil
}

// takeAnswer keeps what a person said beside the answer, and whose stage was approved.
func takeAnswer(p *plan.Plan, s *state.State, at event.Location, q state.Question) {
	if q.Answer == nil || q.Answer.Word != event.AnswerApprove {
		return
	}
	say(s, q.Answer.Text)
	if n := p.Find(at.Node); q.Kind == event.QuestionSupervise && n != nil {
		s.ApprovedStages = append(s.ApprovedStages, n.ID)
	}
}

// follows is what a hook's answer means for the run.
func follows(s *state.State, at event.Location, d event.HookCompleteData) {
	by := fmt.Sprintf("hook %s at %s", d.Action, d.Point)
	n, entered := s.Nodes[s.At]
	entered = entered && at.Node != ""
	restart := d.Answer == event.HookRestartStage && entered && plan.HookPoint(d.Point) != plan.PointStageStart
	if d.Context != nil {
		inject(s, plan.HookPoint(d.Point), at, *d.Context, restart)
		n = s.Nodes[s.At]
	}
	switch {
	case restart:
		n.Restart = &state.Restart{Reason: d.Reason, Rejected: d.Action == plan.ActionConfirm}
	case d.Answer == event.HookPause && (s.Stop == nil || s.Stop.Action != "abort"):
		s.Stop = &state.Stop{Action: "pause", Kind: state.PauseHook, Reason: d.Reason, By: by, Hook: true}
	case d.Answer == event.HookAbort:
		s.Stop = &state.Stop{Action: "abort", Reason: orElse(d.Reason, "a hook ended the run"), By: by, Hook: true}
	}
	if d.Outcome != "" && plan.HookPoint(d.Point) == plan.PointStageEnd {
		n.Failure = d.Failure
	}
	if entered {
		s.Nodes[s.At] = n
	}
}

// inject puts a hook's text where it is for: what a start opens, or what comes after an end. The text of a stage that
// begins anew is for its next visit.
func inject(s *state.State, point plan.HookPoint, at event.Location, text event.Ref, restart bool) {
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
		b := n.Branches[at.Branch]
		b.Injected = append(b.Injected, text)
		n.Branches[at.Branch] = b
	default:
		found, ok := loopAt(n, at)
		if !ok {
			return
		}
		found.loop.Injected = append(found.loop.Injected, text)
		setLoop(&n, at, found.loop)
	}
	s.Nodes[s.At] = n
}

// Injected are the texts that hooks gave for the prompts of an iteration at the place, in the order of their scope: of
// the session, of the nodes around the place, of the place.
func Injected(s state.State, at event.Location) []event.Ref {
	n := s.Nodes[at.Outer()]
	texts := append([]event.Ref{}, s.Injected...)
	for i, c := range at.Outer() + "." {
		if c == '.' {
			texts = append(texts, s.Nodes[at.Outer()[:i]].Injected...)
		}
	}
	if at.Branch != "" {
		texts = append(texts, n.Branches[at.Branch].Injected...)
	}
	return append(texts, s.LoopAt(at).Injected...)
}

// unfire takes back what a kernel that is gone had begun.
func unfire(s *state.State) {
	s.Gate.Firing = 0
	for path, n := range s.Nodes {
		if n.Status != state.NodeRunning {
			continue
		}
		n.Gate.Firing = 0
		for id, b := range n.Branches {
			b.Gate.Firing = 0
			n.Branches[id] = b
		}
		s.Nodes[path] = n
	}
}

// reopened is the gate of an end that failed and may come again.
func reopened(g state.HookCursor, point plan.HookPoint) state.HookCursor {
	if g.Point != string(point) {
		return g
	}
	return state.HookCursor{Point: g.Point, Iteration: g.Iteration, Round: g.Round + 1}
}

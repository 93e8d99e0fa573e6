package progress

import (
	"errors"
	"fmt"
	"slices"

	"github.com/dodo-digital/agent-pipelines/kernel/plan"

	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/state"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
)

// ErrInvalidTransition is wrapped by the errors of [Apply] for an event that does not fit the state. Such an event is
// a late delivery, a duplicate, or from an outdated kernel. The state is then unchanged.
var ErrInvalidTransition = errors.New("event does not fit the state")

func invalidTransition(e event.Event, reason string) error {
	return fmt.Errorf("%w: event %d (%s): %s", ErrInvalidTransition, e.Seq, e.Type, reason)
}

// loopEvent is an event of an iteration loop, with the loop that it changes.
type loopEvent struct {
	event.Event
	plan    *plan.Plan
	state   *state.State // still with the loop before the event
	node    *plan.Node   // the stage of the loop
	loop    *state.Loop
	current event.Location // of the loop's current iteration
	loc     event.Location // in the event's key
}

// expect changes the loop if it is in the phase and waits for the key.
func (e loopEvent) expect(phase state.Phase, key event.Key, change func(l *state.Loop)) error {
	if e.loop.Phase != phase || e.Key != key {
		return invalidTransition(e.Event, fmt.Sprintf("the loop is in phase %s and waits for %s", e.loop.Phase, key))
	}
	change(e.loop)
	return nil
}

// causedByStop reports whether the failure has a kind by which effects report that they were stopped. It is also true
// for a failure that says nothing about the work, which stops the run.
//
// Callers use the result only while the run is being stopped. If a plugin reported such a kind without a request, the
// effect would be requested again at once and forever.
func causedByStop(d *event.FailureData) bool {
	return d.System || d.ErrorType == string(failure.SignalInterrupt) || d.ErrorType == string(failure.Aborted)
}

func setStatus(s *state.State, e event.Event, next state.Status) error {
	if !s.Status.CanBecome(next) {
		return invalidTransition(e, fmt.Sprintf("a session that is %s cannot become %s", s.Status, next))
	}
	now := e.Time
	s.Status, s.EndedAt = next, &now
	return nil
}

// abortedByHook reports whether a hook or a rejection has ended the run and the event that records it is still
// missing.
func abortedByHook(s state.State) bool {
	return s.Stop != nil && s.Stop.Hook && s.Stop.Action == "abort"
}

// markHandled records the id of a control message, so that it is not applied twice.
func markHandled(s *state.State, e event.Event, id string) error {
	if id == "" {
		return nil
	}
	if slices.Contains(s.Handled, id) {
		return invalidTransition(e, "control message "+id+" was already applied")
	}
	s.Handled = append(s.Handled, id)
	s.Handled = s.Handled[max(0, len(s.Handled)-maxHandled):]
	return nil
}

// maxHandled is the number of control message ids that a state keeps.
const maxHandled = 100

// clearCarry clears the values that are stored for the next node.
func clearCarry(s *state.State) {
	s.NextFeedback, s.NextFailedSteps, s.NextReason, s.NextFrom = nil, nil, "", ""
}

// decode calls apply with the decoded data of an event.
func decode[T any](e event.Event, apply func(T) error) error {
	d, err := event.Decode[T](e)
	if err != nil {
		return err
	}
	return apply(d)
}

// put stores a value in a map, and makes the map if it is nil.
func put[K comparable, V any](m *map[K]V, key K, value V) {
	if *m == nil {
		*m = map[K]V{}
	}
	(*m)[key] = value
}

// runningNode returns the node that the run is at, which the event's cursor must name, with its state.
func runningNode(p *plan.Plan, s *state.State, e event.Event) (*plan.Node, state.Node, error) {
	n, ns := p.Find(s.At), s.Nodes[s.At]
	if n == nil || ns.Status != state.NodeRunning || e.Cursor == nil || e.Cursor.NodePath != s.At {
		return nil, ns, invalidTransition(e, "the run is not at that node")
	}
	return n, ns, nil
}

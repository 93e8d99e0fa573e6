package enginetest

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/dodo-digital/agent-pipelines/engine"
	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/state"
)

// AssertIterationCount checks how many iterations the session's latest run completed, over all stages and all
// providers of parallel blocks.
func AssertIterationCount(t testing.TB, s *Session, want int) {
	t.Helper()
	var places []string
	for _, e := range s.Events() {
		if e.Type == event.IterationComplete {
			places = append(places, iterationPlace(e))
		}
	}
	if len(places) != want {
		t.Errorf("session %q completed %d iterations, want %d:%s", s.Name, len(places), want, numberedList(places))
	}
}

// iterationPlace names the stage, node, iteration and provider of an iteration.
func iterationPlace(e event.Event) string {
	d, _ := event.Decode[event.IterationCompleteData](e) // on error only the cursor is shown
	if e.Cursor == nil {
		return d.Stage
	}
	text := fmt.Sprintf("%s (node %s) iteration %d", d.Stage, e.Cursor.NodePath, e.Cursor.Iteration)
	if e.Cursor.Provider != "" {
		text += " by " + e.Cursor.Provider
	}
	return text
}

// AssertStateStatus checks the session's status.
func AssertStateStatus(t testing.TB, s *Session, want state.Status) {
	t.Helper()
	status := s.Status()
	if status.Status == want {
		return
	}
	var found []string
	if status.Reason != "" {
		found = append(found, "reason: "+status.Reason)
	}
	if f := status.Failure; f != nil {
		found = append(found, fmt.Sprintf("%s: %s", f.ErrorType, f.Message))
	}
	for _, stage := range status.Stages {
		found = append(found, fmt.Sprintf("stage %s: %s, %d iterations", stage.ID, stage.Status, stage.Iterations))
	}
	t.Errorf("session %q is %s, want %s:%s", s.Name, status.Status, want, numberedList(found))
}

// AssertEventSequence checks the types of all events of the session's latest run, in order. Informational
// events ([event.Type.Informative]) are ignored, such as stage_transition and plugin_started. A run of one
// stage with one iteration has the events
//
//	session_start kernel_start node_start iteration_start iteration_complete decision node_complete session_complete
//
// In a parallel block the order between providers is undefined; use [AssertEventSubsequence] there.
func AssertEventSequence(t testing.TB, s *Session, want ...event.Type) {
	t.Helper()
	found := slices.DeleteFunc(types(s.Events()), event.Type.Informative)
	assertSequence(t, fmt.Sprintf("session %q has other events from number", s.Name), found, want, func(found, want event.Type) bool { return found == want })
}

// AssertEventSubsequence checks that events of the types occurred in the session's latest run in this order,
// with any other events in between.
func AssertEventSubsequence(t testing.TB, s *Session, want ...event.Type) {
	t.Helper()
	found := types(s.Events())
	rest := found
	for i, w := range want {
		at := slices.Index(rest, w)
		if at < 0 {
			t.Errorf("session %q has no %s after the first %d of the events wanted; found:%s\nwant:%s", s.Name, w, i, numberedList(found), numberedList(want))
			return
		}
		rest = rest[at+1:]
	}
}

// AssertPath checks the node visits of the session's latest run, in order; nodes of embedded pipelines follow
// the embedding node. A node is named by its id, optionally with the visit's outcome:
//
//	enginetest.AssertPath(t, s, "plan", "build", "verify:fail", "build", "verify:success")
func AssertPath(t testing.TB, s *Session, want ...string) {
	t.Helper()
	history, err := s.Engine.History(s.Name)
	if err != nil {
		t.Fatalf("read the history of session %q: %v", s.Name, err)
	}
	var found []string
	for _, v := range history.Visits {
		found = append(found, describeVisit(v))
	}
	assertSequence(t, fmt.Sprintf("session %q took another path from visit", s.Name), found, want, func(found, want string) bool {
		return found == want || strings.HasPrefix(found, want+" ") || strings.HasPrefix(found, want+":")
	})
}

// describeVisit formats a visit as in AssertPath, with its reason.
func describeVisit(v engine.Visit) string {
	text := v.Stage + ":" + v.Outcome
	if v.Outcome == "" {
		text = v.Stage + " (" + v.Status + ")"
	}
	if v.Reason != "" {
		text += " (" + v.Reason + ")"
	}
	return text
}

// assertSequence checks that the items found match the wanted ones, in number and order.
func assertSequence[T ~string](t testing.TB, difference string, found, want []T, matches func(found, want T) bool) {
	t.Helper()
	n := 0
	for n < len(found) && n < len(want) && matches(found[n], want[n]) {
		n++
	}
	if n < len(found) || n < len(want) {
		t.Errorf("%s %d on; found:%s\nwant:%s", difference, n+1, numberedList(found), numberedList(want))
	}
}

func types(events []event.Event) []event.Type {
	types := make([]event.Type, len(events))
	for i, e := range events {
		types[i] = e.Type
	}
	return types
}

// numberedList formats the items as numbered lines.
func numberedList[T ~string](items []T) string {
	if len(items) == 0 {
		return " none"
	}
	var b strings.Builder
	for i, item := range items {
		fmt.Fprintf(&b, "\n%5d %s", i+1, string(item))
	}
	return b.String()
}

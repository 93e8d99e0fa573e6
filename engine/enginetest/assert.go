package enginetest

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/state"
)

// AssertIterationCount checks how many iterations the session's latest run completed, over all stages and all
// providers of parallel blocks. It reports whether the check holds.
func AssertIterationCount(t testing.TB, s *Session, want int) bool {
	t.Helper()
	events, ok := readEvents(t, s)
	if !ok {
		return false
	}
	count, places := 0, []string{}
	for _, e := range events {
		if e.Type != event.IterationComplete {
			continue
		}
		count++
		places = append(places, iterationPlace(e))
	}
	if count == want {
		return true
	}
	t.Errorf("session %q completed %d iterations, want %d:%s", s.Name, count, want, numberedList(places))
	return false
}

// readEvents returns the events of the session's latest run. ok is false after an error, which fails the test.
func readEvents(t testing.TB, s *Session) (events []event.Event, ok bool) {
	t.Helper()
	events, err := s.events()
	if err != nil {
		t.Errorf("read the events of session %q: %v", s.Name, err)
	}
	return events, err == nil
}

// iterationPlace names the stage, node, iteration and provider of an iteration.
func iterationPlace(e event.Event) string {
	d, _ := event.Decode[event.IterationCompleteData](e) // on error the cursor remains
	if e.Cursor == nil {
		return d.Stage
	}
	text := fmt.Sprintf("%s (node %s) iteration %d", d.Stage, e.Cursor.NodePath, e.Cursor.Iteration)
	if e.Cursor.Provider != "" {
		text += " by " + e.Cursor.Provider
	}
	return text
}

// AssertStateStatus checks the session's status. It reports whether the check holds.
func AssertStateStatus(t testing.TB, s *Session, want state.Status) bool {
	t.Helper()
	status, err := s.Engine.Status(s.Name)
	if err != nil {
		t.Errorf("read the status of session %q: %v", s.Name, err)
		return false
	}
	if status.Status == want {
		return true
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
	return false
}

// AssertEventSequence checks the types of all events of the session's latest run, in order. Informational
// events ([event.Type.Informative]) are ignored, such as stage_transition and plugin_started. A run of one
// stage with one iteration has the events
//
//	session_start kernel_start node_start iteration_start iteration_complete decision node_complete session_complete
//
// In a parallel block the order between providers is undefined; use [AssertEventSubsequence] there. It
// reports whether the check holds.
func AssertEventSequence(t testing.TB, s *Session, want ...event.Type) bool {
	t.Helper()
	for _, w := range want {
		if w.Informative() {
			t.Errorf("%s cannot be expected: informational events are ignored", w)
			return false
		}
	}
	events, ok := readEvents(t, s)
	if !ok {
		return false
	}
	found := slices.DeleteFunc(types(events), event.Type.Informative)
	n := 0
	for n < len(found) && n < len(want) && found[n] == want[n] {
		n++
	}
	if n == len(found) && n == len(want) {
		return true
	}
	t.Errorf("the events of session %q differ from number %d on: found %s, want %s; found:%s\nwant:%s",
		s.Name, n+1, typeAt(found, n), typeAt(want, n), numberedList(found), numberedList(want))
	return false
}

// AssertEventSubsequence checks that events of the types occurred in the session's latest run in this order,
// with any other events in between. It reports whether the check holds.
func AssertEventSubsequence(t testing.TB, s *Session, want ...event.Type) bool {
	t.Helper()
	events, ok := readEvents(t, s)
	if !ok {
		return false
	}
	found := types(events)
	rest := found
	for i, w := range want {
		at := slices.Index(rest, w)
		if at < 0 {
			t.Errorf("session %q has no %s after the first %d of the events wanted; found:%s\nwant:%s", s.Name, w, i, numberedList(found), numberedList(want))
			return false
		}
		rest = rest[at+1:]
	}
	return true
}

func types(events []event.Event) []event.Type {
	types := make([]event.Type, len(events))
	for i, e := range events {
		types[i] = e.Type
	}
	return types
}

func typeAt(types []event.Type, i int) string {
	if i >= len(types) {
		return "nothing"
	}
	return string(types[i])
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

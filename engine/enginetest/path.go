package enginetest

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/dodo-digital/agent-pipelines/engine"
	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
)

// AssertPath checks the node visits of the session's latest run, in order; nodes of embedded pipelines follow
// the embedding node. A node is named by its id, optionally with the visit's outcome:
//
//	enginetest.AssertPath(t, s, "plan", "build", "verify:fail", "build", "verify:success")
//
// It reports whether the check holds.
func AssertPath(t testing.TB, s *Session, want ...string) bool {
	t.Helper()
	history, err := s.Engine.History(s.Name)
	if err != nil {
		t.Errorf("read the history of session %q: %v", s.Name, err)
		return false
	}
	n := 0
	for n < len(history.Visits) && n < len(want) && matchesVisit(want[n], history.Visits[n]) {
		n++
	}
	if n == len(history.Visits) && n == len(want) {
		return true
	}
	var found []string
	for _, v := range history.Visits {
		found = append(found, describeVisit(v))
	}
	t.Errorf("session %q took another path from visit %d on; found:%s\nwant:%s", s.Name, n+1, numberedList(found), numberedList(want))
	return false
}

func matchesVisit(want string, v engine.Visit) bool {
	id, outcome, hasOutcome := strings.Cut(want, ":")
	return id == v.Stage && (!hasOutcome || outcome == v.Outcome)
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

// AssertCycles checks how often each counted edge was taken in the session's latest run, such as
//
//	enginetest.AssertCycles(t, s, map[string]int{"verify:fail->build": 2})
//
// Other edges must not have been taken. It reports whether the check holds.
func AssertCycles(t testing.TB, s *Session, want map[string]int) bool {
	t.Helper()
	status, err := s.Engine.Status(s.Name)
	if err != nil {
		t.Errorf("read the status of session %q: %v", s.Name, err)
		return false
	}
	found, lines := map[string]int{}, []string{}
	for _, c := range status.Cycles {
		found[c.Edge] = c.Count
		lines = append(lines, fmt.Sprintf("%s %d of %d: %s", c.Edge, c.Count, c.Limit, strings.Join(c.Reasons, "; ")))
	}
	if maps.Equal(found, want) {
		return true
	}
	var wants []string
	for _, edge := range slices.Sorted(maps.Keys(want)) {
		wants = append(wants, fmt.Sprintf("%s %d", edge, want[edge]))
	}
	t.Errorf("session %q took other edges; found:%s\nwant:%s", s.Name, numberedList(lines), numberedList(wants))
	return false
}

// RequestFilter selects requests; all fields that are set must match. Node is a node's id, Step the id of a step; Visit,
// Iteration and Attempt count from 1.
type RequestFilter struct {
	Node      string
	Step      string
	Visit     int
	Iteration int
	Attempt   int
}

func (a RequestFilter) matches(req sdk.ExecuteRequest) bool {
	return unsetOrEqual(a.Node, req.Node) && unsetOrEqual(a.Step, StepID(req)) && unsetOrEqual(a.Visit, req.Visit) &&
		unsetOrEqual(a.Iteration, req.Iteration) && unsetOrEqual(a.Attempt, req.Attempt)
}

// Prompts returns the prompts of the selected requests, in order.
func (s *Session) Prompts(at RequestFilter) []string {
	var prompts []string
	for _, req := range s.Requests() {
		if at.matches(req) {
			prompts = append(prompts, req.Prompt)
		}
	}
	return prompts
}

// AssertPrompts checks that at selects a request, and that each selected prompt contains all texts. It
// reports whether the check holds.
func AssertPrompts(t testing.TB, s *Session, at RequestFilter, texts ...string) bool {
	t.Helper()
	prompts := s.Prompts(at)
	if len(prompts) == 0 {
		var asked []string
		for _, req := range s.Requests() {
			asked = append(asked, fmt.Sprintf("%+v", RequestFilter{req.Node, StepID(req), req.Visit, req.Iteration, req.Attempt}))
		}
		t.Errorf("session %q has no request at %+v; its requests:%s", s.Name, at, numberedList(asked))
		return false
	}
	for _, prompt := range prompts {
		for _, text := range texts {
			if !strings.Contains(prompt, text) {
				t.Errorf("a prompt of session %q at %+v does not contain %q:\n%s", s.Name, at, text, prompt)
				return false
			}
		}
	}
	return true
}

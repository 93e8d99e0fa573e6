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

// AssertPath checks which nodes the session's newest run visited, exactly and in order, however often each; those of
// embedded pipelines follow the node that embeds them. A node is wanted by its id, or with how the visit ended:
//
//	enginetest.AssertPath(t, s, "plan", "build", "verify:fail", "build", "verify:success")
//
// It reports whether it holds.
func AssertPath(t testing.TB, s *Session, want ...string) bool {
	t.Helper()
	history, err := s.Engine.History(s.Name)
	if err != nil {
		t.Errorf("read the history of session %q: %v", s.Name, err)
		return false
	}
	at := 0
	for at < len(history.Visits) && at < len(want) && wanted(want[at], history.Visits[at]) {
		at++
	}
	if at == len(history.Visits) && at == len(want) {
		return true
	}
	var found []string
	for _, v := range history.Visits {
		found = append(found, told(v))
	}
	t.Errorf("session %q went another way from visit %d on; found:%s\nwant:%s", s.Name, at+1, listed(found), listed(want))
	return false
}

func wanted(want string, v engine.Visit) bool {
	id, outcome, said := strings.Cut(want, ":")
	return id == v.Stage && (!said || outcome == v.Outcome)
}

// told is a visit as AssertPath takes it, and why it ended so.
func told(v engine.Visit) string {
	text := v.Stage + ":" + v.Outcome
	if v.Outcome == "" {
		text = v.Stage + " (" + v.Status + ")"
	}
	if v.Reason != "" {
		text += " (" + v.Reason + ")"
	}
	return text
}

// AssertCycles checks how often each counted edge was taken in the session's newest run, such as
//
//	enginetest.AssertCycles(t, s, map[string]int{"verify:fail->build": 2})
//
// An edge that is not named was not taken; nil: none was. It reports whether it holds.
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
	t.Errorf("session %q returned over other edges; found:%s\nwant:%s", s.Name, listed(lines), listed(wants))
	return false
}

// At says which requests are meant; all that are set must hold. Node is a node's id, Step the id of one of its steps;
// Visit, Iteration and Attempt count from 1.
type At struct {
	Node      string
	Step      string
	Visit     int
	Iteration int
	Attempt   int
}

func (a At) fits(req sdk.ExecuteRequest) bool {
	return same(a.Node, req.Node) && same(a.Step, Step(req)) && same(a.Visit, req.Visit) &&
		same(a.Iteration, req.Iteration) && same(a.Attempt, req.Attempt)
}

// Prompts are those of the requests that are meant, in the order in which they came.
func (s *Session) Prompts(at At) []string {
	var prompts []string
	for _, req := range s.Requests() {
		if at.fits(req) {
			prompts = append(prompts, req.Prompt)
		}
	}
	return prompts
}

// AssertPrompts checks that agents were asked where at says, and that every prompt of these holds all the texts. It
// reports whether it holds.
func AssertPrompts(t testing.TB, s *Session, at At, texts ...string) bool {
	t.Helper()
	prompts := s.Prompts(at)
	if len(prompts) == 0 {
		var asked []string
		for _, req := range s.Requests() {
			asked = append(asked, fmt.Sprintf("%+v", At{req.Node, Step(req), req.Visit, req.Iteration, req.Attempt}))
		}
		t.Errorf("session %q asked nobody at %+v; it asked:%s", s.Name, at, listed(asked))
		return false
	}
	for _, prompt := range prompts {
		for _, text := range texts {
			if !strings.Contains(prompt, text) {
				t.Errorf("a prompt of session %q at %+v does not hold %q:\n%s", s.Name, at, text, prompt)
				return false
			}
		}
	}
	return true
}

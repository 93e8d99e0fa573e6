package statefile_test

import (
	"strings"
	"testing"

	"github.com/dodo-digital/agent-pipelines/engine/internal/testkit"
	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/store"
)

// U128: each asking of an escalation has a file of its own, which follows the journal and is made again from it alone.
func TestEscalations(t *testing.T) {
	_, d := testkit.Session(t, t.TempDir(), "p2")
	s := newStory(t, d, twoStages())
	s.begin("pipeline")
	s.enter("0")
	place := event.Location{Node: "0", Visit: 1, Run: 1, Iteration: 1}
	ask := func(id string, n int) string {
		s.append(event.QuestionAsked, place, place.Key(event.KeyCheck, n), event.QuestionAskedData{
			ID: id, Kind: event.QuestionEscalation, Digest: "d", Text: "which login?", Options: []string{event.AnswerApprove, event.AnswerReject},
			Shown: []event.Ref{{Path: "plan.md"}}, Remedy: "decide",
		})
		return s.st.Questions[id].Escalation
	}
	answer := func(id, word, text string, expired bool) {
		s.append(event.QuestionAnswered, place, "", event.QuestionAnsweredData{ID: id, By: "anna", Answer: word, Text: text, Digest: "d", Expired: expired})
	}
	check := func(id string, want ...string) {
		t.Helper()
		text := testkit.Must(d.Read(store.EscalationFile(id), 1<<20))
		for _, line := range want {
			if !strings.Contains(string(text), line+"\n") {
				t.Errorf("%s lacks %q:\n%s", id, line, text)
			}
		}
	}
	first := ask("q-1", 1)
	check(first, "escalation_id: "+first, "session: p2", "question: q-1", "stage: plan", "issue: which login?", "remedy: decide", "      path: plan.md", "status: pending")
	answer("q-1", event.AnswerApprove, "use Google", false)
	check(first, "status: resolved", "  abort: false", "  by: anna", "  context: use Google")

	second := ask("q-1", 1) // the same question once more
	if second == first {
		t.Fatalf("both are %s", first)
	}
	check(first, "status: resolved")
	check(second, "status: pending")
	if got := readQuestion(t, d, "q-1").Escalation; got != second {
		t.Errorf("the question is %s, want %s", got, second)
	}
	third := ask("q-2", 2)
	answer("q-2", event.AnswerReject, "", true)
	check(third, "status: expired", "  abort: true")

	for _, id := range []string{first, second, third} {
		testkit.OK(t, d.Remove(store.EscalationFile(id)))
	}
	s.writer = continued(d, s.plan, s.events)
	s.append(event.SessionAborted, event.Location{}, "", event.SessionAbortedData{Reason: "enough"})
	check(first, "status: resolved", "  context: use Google")
	check(second, "status: rejected", "  abort: true")
	check(third, "status: expired")
}

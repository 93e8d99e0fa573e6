package statefile_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/dodo-digital/agent-pipelines/engine/internal/statefile"
	"github.com/dodo-digital/agent-pipelines/engine/internal/testkit"
	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/store"
)

// A question's file follows the journal from asking to the end, and is rebuilt from the journal alone.
func TestQuestions(t *testing.T) {
	s, d := begun(t, twoStages())
	s.enter("0")
	place := event.Location{Node: "0", Visit: 1, Run: 1, Iteration: 1}
	ask := func(id, kind, digest string) {
		s.append(event.QuestionAsked, place, place.Key(event.KeyCheck, len(s.events)), event.QuestionAskedData{
			ID: id, Kind: kind, Digest: digest, Text: "Good?", Options: []string{event.AnswerApprove, event.AnswerReject},
			Shown: []event.Ref{{Path: "plan.md"}},
		})
	}
	ask("q-1", event.QuestionConfirm, "d1")
	ask("q-2", event.QuestionEscalation, "d2")
	want := statefile.Question{
		ID: "q-1", Session: "p2", Status: statefile.QuestionOpen, Kind: event.QuestionConfirm, Stage: "plan", Text: "Good?",
		Options: []string{event.AnswerApprove, event.AnswerReject}, Shown: []event.Ref{{Path: "plan.md"}}, Digest: "d1", AskedAt: "2026-01-02T03:04:09Z",
	}
	check := func(name string, want statefile.Question) {
		t.Helper()
		if diff := cmp.Diff(want, readQuestion(t, d, want.ID)); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
	check("asked", want)
	testkit.Equal(t, statefile.Pending{Approval: "plan", Artifact: "plan.md", Escalation: "q-2"}, document(t, d, s).Pending)
	testkit.Equal(t, []string{"q-1", "q-2"}, document(t, d, s).Waiting)

	s.append(event.QuestionAnswered, place, "", event.QuestionAnsweredData{ID: "q-1", By: "anna", Answer: event.AnswerApprove, Text: "go", Digest: "d1"})
	want.Status, want.Answer, want.AnsweredBy, want.AnsweredAt, want.AnswerText = statefile.QuestionAnswered, event.AnswerApprove, "anna", "2026-01-02T03:04:11Z", "go"
	check("answered", want)
	testkit.Equal(t, []string{"q-2"}, document(t, d, s).Waiting)

	// An answered question was asked again; a file that a crash left outdated or missing is rewritten.
	ask("q-1", event.QuestionConfirm, "d3")
	open := want
	open.Status, open.Digest, open.AskedAt = statefile.QuestionOpen, "d3", "2026-01-02T03:04:12Z"
	open.Answer, open.AnsweredBy, open.AnsweredAt, open.AnswerText = "", "", "", ""
	check("asked again", open)
	testkit.OK(t, d.Replace(store.QuestionFile("q-1"), []byte("{}")))
	testkit.OK(t, d.Remove(store.QuestionFile("q-2")))
	s.writer = continued(d, s.plan, s.events)
	s.append(event.SessionAborted, event.Location{}, "", event.SessionAbortedData{Reason: "enough"})
	open.Status = statefile.QuestionClosed
	check("dropped", open)
	if got := readQuestion(t, d, "q-2"); got.Status != statefile.QuestionClosed || got.Answer != "" {
		t.Errorf("the second question: %+v", got)
	}
}

func readQuestion(t *testing.T, d *store.Dir, id string) (q statefile.Question) {
	t.Helper()
	text := testkit.Must(d.Read(store.QuestionFile(id), 1<<20))
	testkit.OK(t, json.Unmarshal(text, &q))
	return q
}

func document(t *testing.T, d *store.Dir, s *story) statefile.Document {
	t.Helper()
	testkit.OK(t, s.writer.Flush(s.st))
	return testkit.Must(statefile.Read(d))
}

// U128: each asking of an escalation has a file of its own, which follows the journal and is rebuilt from the journal
// alone.
func TestEscalations(t *testing.T) {
	s, d := begun(t, twoStages())
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
	testkit.Equal(t, second, readQuestion(t, d, "q-1").Escalation)
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

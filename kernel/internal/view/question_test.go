package view_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/internal/rundir"
	"github.com/dodo-digital/agent-pipelines/kernel/internal/view"
)

// A question's file follows the journal from asking to the end, and is made again from the journal alone.
func TestQuestions(t *testing.T) {
	_, d := openDir(t, "p2")
	s := newStory(t, d, twoStages())
	s.begin("pipeline")
	s.enter("0")
	place := event.Place{Node: "0", Visit: 1, Run: 1, Iteration: 1}
	ask := func(id, kind, digest string) {
		s.tell(event.QuestionAsked, place, place.Key(event.KeyCheck, len(s.events)), event.QuestionAskedData{
			ID: id, Kind: kind, Digest: digest, Text: "Good?", Options: []string{event.AnswerApprove, event.AnswerReject},
			Shown: []event.Ref{{Path: "plan.md"}},
		})
	}
	ask("q-1", event.QuestionConfirm, "d1")
	ask("q-2", event.QuestionEscalation, "d2")
	want := view.Question{
		ID: "q-1", Session: "p2", Status: view.QuestionOpen, Kind: event.QuestionConfirm, Stage: "plan", Text: "Good?",
		Options: []string{event.AnswerApprove, event.AnswerReject}, Shown: []event.Ref{{Path: "plan.md"}}, Digest: "d1", AskedAt: "2026-01-02T03:04:09Z",
	}
	check := func(what string, want view.Question) {
		t.Helper()
		if diff := cmp.Diff(want, readQuestion(t, d, want.ID)); diff != "" {
			t.Errorf("%s: %s", what, diff)
		}
	}
	check("asked", want)
	if diff := cmp.Diff(view.Pending{Approval: "plan", Artifact: "plan.md", Escalation: "q-2"}, document(t, d, s).Pending); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"q-1", "q-2"}, document(t, d, s).Waiting); diff != "" {
		t.Error(diff)
	}

	s.tell(event.QuestionAnswered, place, "", event.QuestionAnsweredData{ID: "q-1", By: "anna", Answer: event.AnswerApprove, Text: "go", Digest: "d1"})
	want.Status, want.Answer, want.AnsweredBy, want.AnsweredAt, want.AnswerText = view.QuestionAnswered, event.AnswerApprove, "anna", "2026-01-02T03:04:11Z", "go"
	check("answered", want)
	if diff := cmp.Diff([]string{"q-2"}, document(t, d, s).Waiting); diff != "" {
		t.Error(diff)
	}

	// What was answered was asked again; a file that a crash left behind, or that is gone, is made again.
	ask("q-1", event.QuestionConfirm, "d3")
	open := want
	open.Status, open.Digest, open.AskedAt = view.QuestionOpen, "d3", "2026-01-02T03:04:12Z"
	open.Answer, open.AnsweredBy, open.AnsweredAt, open.AnswerText = "", "", "", ""
	check("asked again", open)
	if err := d.Replace(rundir.QuestionFile("q-1"), []byte("{}")); err != nil {
		t.Fatal(err)
	}
	if err := d.Remove(rundir.QuestionFile("q-2")); err != nil {
		t.Fatal(err)
	}
	s.writer = continued(d, s.plan, s.events)
	s.tell(event.SessionAborted, event.Place{}, "", event.SessionAbortedData{Reason: "enough"})
	open.Status = view.QuestionClosed
	check("dropped", open)
	if got := readQuestion(t, d, "q-2"); got.Status != view.QuestionClosed || got.Answer != "" {
		t.Errorf("the other one: %+v", got)
	}
}

func readQuestion(t *testing.T, d *rundir.Dir, id string) (q view.Question) {
	t.Helper()
	text, err := d.Read(rundir.QuestionFile(id), 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &q); err != nil {
		t.Fatal(err)
	}
	return q
}

func document(t *testing.T, d *rundir.Dir, s *story) view.Document {
	t.Helper()
	if err := s.writer.Flush(s.st); err != nil {
		t.Fatal(err)
	}
	doc, err := view.Read(d)
	if err != nil {
		t.Fatal(err)
	}
	return doc
}

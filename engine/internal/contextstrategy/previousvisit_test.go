package contextstrategy_test

import (
	"strings"
	"testing"

	"github.com/dodo-digital/agent-pipelines/engine/internal/artifact"
	"github.com/dodo-digital/agent-pipelines/engine/internal/contextstrategy"
	"github.com/dodo-digital/agent-pipelines/engine/internal/testkit"
	"github.com/dodo-digital/agent-pipelines/kernel/event"
)

// D4: the previous visit's files are shown if the node is entered again because of feedback on them.
func TestEarlier(t *testing.T) {
	h := newFixture(t)
	h.file("stage-00-plan/iterations/001/output.md", "first")
	h.file("stage-00-plan/iterations/002/output.md", "second")
	h.file("stage-00-plan/iterations/003/result.json", "{}")
	kept := h.file("artifacts/00-plan.v1.yaml", planArtifact)
	feedback := h.file("stage-02-verify/iterations/001/feedback.md", "wrong")
	second := event.Location{Node: "0", Visit: 2, Run: 1, Iteration: 1}
	for name, tt := range map[string]struct {
		at       event.Location
		feedback *event.Ref
		cause    string
		rejected bool
		warned   bool
	}{
		"the first visit":      {event.Location{Node: "0", Visit: 1, Run: 1, Iteration: 1}, &feedback, "", false, false},
		"after a success":      {second, nil, "", false, false},
		"because of feedback":  {second, &feedback, "", false, true},
		"because of a failure": {second, nil, "it failed", false, true},
		"the user says so":     {second, nil, "", true, true},
		"a step":               {event.Location{Node: "0", Visit: 2, Run: 1, Iteration: 1, Step: "s1"}, &feedback, "", false, false},
	} {
		ns := h.state.Nodes["0"]
		ns.Feedback, ns.Cause, ns.Rejected = tt.feedback, tt.cause, tt.rejected
		h.state.Nodes["0"] = ns
		left, err := contextstrategy.PreviousVisit(h.dir, h.plan, h.state, tt.at)
		if err != nil || (left.Output != nil) != tt.warned || (left.Artifact != nil) != tt.warned {
			t.Fatalf("%s: %+v, %v", name, left, err)
		}
		if tt.warned && (left.Output.Path != "stage-00-plan/iterations/002/output.md" || *left.Artifact != kept) {
			t.Errorf("%s: %+v", name, left)
		}
	}
}

// The artifact is shown, else the output; a large one is only described.
func TestEarlierSections(t *testing.T) {
	h := newFixture(t)
	small, output := h.file("artifacts/00-plan.v1.yaml", "a: [1]\n_metadata: {iteration: 1}\n"), h.file("stage-00-plan/iterations/001/output.md", "said\n")
	body := strings.Repeat("BODY ", artifact.MaxInline/4)
	large, long := h.file("artifacts/00-plan.v2.yaml", `{"a":"`+body+`"}`), h.file("stage-00-plan/iterations/002/output.md", body)
	for _, tt := range []struct {
		files contextstrategy.VisitFiles
		want  []contextstrategy.Section
	}{
		{contextstrategy.VisitFiles{}, nil},
		{contextstrategy.VisitFiles{Artifact: &small, Output: &output}, []contextstrategy.Section{{Kind: contextstrategy.File, Name: "your earlier attempt, its artifact", Text: "{\n  \"a\": [\n    1\n  ]\n}"}}},
		{contextstrategy.VisitFiles{Output: &output}, []contextstrategy.Section{{Kind: contextstrategy.File, Name: "your earlier attempt", Text: "said\n"}}},
	} {
		got := testkit.Must(h.src.PreviousVisitSections(tt.files))
		testkit.Equal(t, tt.want, got)
	}
	for _, left := range []contextstrategy.VisitFiles{{Artifact: &large, Output: &output}, {Output: &long}} {
		got, err := h.src.PreviousVisitSections(left)
		if err != nil || len(got) != 1 || len(got[0].Text) > 2000 || strings.Contains(got[0].Text, "BODY") || !strings.Contains(got[0].Text, "sha256: ") {
			t.Errorf("%.300v, %v", got, err)
		}
	}
}

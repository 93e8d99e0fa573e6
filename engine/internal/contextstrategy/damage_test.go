package contextstrategy_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/dodo-digital/agent-pipelines/engine/internal/artifact"
	"github.com/dodo-digital/agent-pipelines/engine/internal/contextstrategy"
	"github.com/dodo-digital/agent-pipelines/engine/internal/testkit"
	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/store"
)

// obstruct puts a file in place of a directory.
func (h *fixture) obstruct(name string) {
	h.t.Helper()
	h.removeFile(name)
	h.putFile(store.RunsDir+"/demo/"+name, "in the way\n")
}

// removeFile removes a file of the session.
func (h *fixture) removeFile(name string) {
	h.t.Helper()
	testkit.OK(h.t, os.RemoveAll(h.dir.Abs(name)))
}

// An unreadable session file is an error that names the file: an agent must not work without its context.
func TestLostSessionFiles(t *testing.T) {
	artifact, item := "artifacts/00-plan.v1.yaml", "steps/s1.json"
	lose := func(name string) func(*fixture) { return func(h *fixture) { h.removeFile(name) } }
	for _, tt := range []struct {
		name, strategy, path, step string
		damage                     func(*fixture)
		text                       string
	}{
		{"the artifact, for all that was said", contextstrategy.Full, "3", "", lose(artifact), artifact},
		{"the artifact, for a step's criteria", contextstrategy.Focused, "1", "s1", lose(artifact), artifact},
		{"the artifact, for the criteria of a review", contextstrategy.Minimal, "3", "", lose(artifact), artifact},
		{"the artifact, for titles", contextstrategy.Summary, "3", "", lose(artifact), artifact},
		{"the step", contextstrategy.Focused, "1", "s1", lose(item), item},
		{"feedback", contextstrategy.Full, "3", "", func(h *fixture) {
			n := h.state.Nodes["2"]
			n.Loop.Feedback = &event.Ref{Path: "feedback.md"}
			h.state.Nodes["2"] = n
		}, "feedback.md"},
		{"earlier visits", contextstrategy.Full, "3", "", func(h *fixture) {
			n := h.state.Nodes["2"]
			n.Visit = 2
			h.state.Nodes["2"] = n
			h.obstruct("stage-02-verify/iterations")
		}, "stage-02-verify/iterations"},
		{"the journal, for results of tools", contextstrategy.Focused, "1", "s1", func(h *fixture) {
			testkit.OK(h.t, os.MkdirAll(h.dir.Abs(store.EventsFile), 0o755))
		}, store.EventsFile},
	} {
		t.Run(tt.name, func(t *testing.T) {
			h := newFixture(t)
			tt.damage(h)
			h.src.State, h.src.Node = h.state, h.plan.Find(tt.path)
			h.src.Command.Location = event.Location{Node: tt.path, Visit: 1, Run: 1, Step: tt.step, Iteration: 1}
			sections, err := h.src.Sections(tt.strategy)
			if err == nil || !strings.Contains(err.Error(), tt.text) {
				t.Errorf("error %v, want one that names %s; the context would be %q", err, tt.text, names(sections))
			}
		})
	}
}

// Large arguments and results are in files. For a missing file the section has its size and name.
func TestToolResultsInFiles(t *testing.T) {
	h := newFixture(t)
	at := event.Location{Node: "1", Visit: 1, Run: 1, Step: "s1", Iteration: 1}
	args, result := h.file("calls/args.json", `{"path": "hello.go"}`), h.file("calls/result.json", `"long"`)
	h.removeFile("calls/result.json")
	h.appendEvent(event.New(event.ToolCall, at.Cursor(), at.Key(event.KeyAttempt, 1), event.ToolCallData{CallID: "c", Tool: "read", ArgsRef: &args}))
	h.appendEvent(event.New(event.ToolResult, at.Cursor(), at.Key(event.KeyAttempt, 1), event.ToolResultData{CallID: "c", Status: "success", ResultRef: &result}))
	sections := h.sections(contextstrategy.Focused, "1", "s1")
	want := "read {\"path\": \"hello.go\"}\nsuccess:\n(6 bytes in calls/result.json)"
	if got := sections[len(sections)-1]; got.Name != "tool result 1 of 1: read" || got.Text != want {
		t.Errorf("%+v, want %q", got, want)
	}
}

// Inputs from outside the project are named by their absolute path; anything unreadable is omitted.
func TestInputsOutsideTheProject(t *testing.T) {
	h := newFixture(t)
	elsewhere := filepath.Join(t.TempDir(), "notes.md")
	testkit.OK(t, os.WriteFile(elsewhere, []byte("noted\n"), 0o600))
	h.plan.Session.Inputs = []string{elsewhere, filepath.Dir(elsewhere), elsewhere + ".gone", filepath.Join(h.root, "docs")}
	var warnings []string
	for _, s := range h.sections(contextstrategy.Summary, "3", "") {
		if strings.HasPrefix(s.Name, "input ") {
			warnings = append(warnings, s.Name+": "+s.Text)
		}
	}
	if want := "input " + elsewhere + ": noted\n"; len(warnings) != 1 || warnings[0] != want {
		t.Errorf("warnings %q, want %q", warnings, want)
	}
}

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

// The previous visit's artifact is shown, else its output; a large file is only described.
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

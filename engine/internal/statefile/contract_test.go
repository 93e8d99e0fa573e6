package statefile_test

import (
	"testing"

	"github.com/dodo-digital/agent-pipelines/engine/internal/statefile"
	"github.com/dodo-digital/agent-pipelines/engine/internal/testkit"
	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/kernel/state"
)

// U041, U209: nodes of the newer dialect have members of their own, and others do not.
func TestContracts(t *testing.T) {
	_, d := testkit.Session(t, t.TempDir(), "p2")
	p := twoStages()
	p.Pipeline.Policy = &plan.Policy{Cost: &plan.Cost{MaxUSD: 2}}
	p.Nodes[1].Steps = &plan.Steps{From: "plan"}
	p.Nodes[1].Policy = &plan.Policy{Cost: &plan.Cost{MaxTokens: 4000}}
	s := newStory(t, d, p)
	s.begin("pipeline")
	s.enter("0")
	s.iterate("0", 1)
	s.iterate("0", 2)
	s.leave("0", "1")
	s.enter("1")
	s.st = s.st.Clone()
	n := s.st.Nodes["1"]
	n.Steps = map[string]state.Step{
		"a": {Status: state.StepComplete, StepData: event.StepData{ID: "a"}}, "b": {Status: state.StepFailed, StepData: event.StepData{ID: "b"}},
	}
	s.st.Nodes["1"] = n
	s.st.Cycles = map[string]state.Cycle{"build:fail->plan": {Count: 2, Limit: 3, Reasons: []string{"x", "y"}}}
	s.st.Charges = map[string]state.Charge{"": {USD: 0.5, UnknownUSD: 1}, "1": {Tokens: 2450, UnknownTokens: 2}}
	s.st.Status, s.st.PauseKind, s.st.PauseCode = state.Paused, state.PauseEscalation, "ACODE-ORCH-003"
	doc := document(t, d, s)
	got := map[string]any{"visits": doc.Visits, "steps": doc.Steps, "cycles": doc.Cycles, "budget": doc.Budget, "code": doc.PauseCode}
	want := map[string]any{
		"visits": map[string]int{"build": 1},
		"steps":  map[string]map[string]string{"build": {"a": "complete", "b": "failed"}},
		"cycles": map[string]statefile.Cycle{"build:fail->plan": {Count: 2, Limit: 3, Reasons: []string{"x", "y"}}},
		"budget": map[string]statefile.Budget{"": {LimitUSD: 2, UsedUSD: 0.5, UnknownUSD: 1}, "build": {LimitTokens: 4000, UsedTokens: 2450, UnknownTokens: 2}},
		"code":   "ACODE-ORCH-003",
	}
	testkit.Equal(t, want, got)
	_, plain := testkit.Session(t, t.TempDir(), "p3")
	old := newStory(t, plain, twoStages())
	old.begin("pipeline")
	old.enter("0")
	if doc := document(t, plain, old); doc.Visits != nil || doc.Steps != nil || doc.Cycles != nil || doc.Budget != nil {
		t.Errorf("a plain pipeline has %+v", doc.Back)
	}
}

// U112: nodes that the run never comes to are skipped: those before the one it began with at once, those behind the one that
// it is complete after at its end.
func TestStagesThatAreNeverEntered(t *testing.T) {
	_, d := testkit.Session(t, t.TempDir(), "p2")
	p := twoStages()
	p.Nodes[0].Termination["max"] = 1
	p.Nodes = append([]plan.Node{{Path: "0", ID: "first", Kind: plan.KindStage}}, p.Nodes...)
	p.Nodes[1].Path, p.Nodes[2].Path = "1", "2"
	p.Pipeline.ExitAfter = "plan"
	p.Pipeline.Overrides = &plan.Overrides{Start: "plan"}
	s := newStory(t, d, p)
	s.begin("pipeline")
	s.enter("1")
	begun := statefile.Stage{Index: 0, Name: "first", Status: "skipped", Timestamp: "2026-01-02T03:04:06Z"}
	doc := document(t, d, s)
	if len(doc.Stages) != 2 || doc.Stages[0] != begun || doc.Stages[1].Status != "running" {
		t.Errorf("while it runs: %+v", doc.Stages)
	}
	s.iterate("1", 1)
	s.leave("1", "done")
	s.append(event.SessionComplete, event.Location{}, "", event.SessionCompleteData{ExitAfter: "plan"})
	doc = document(t, d, s)
	behind := statefile.Stage{Index: 2, Name: "build", Status: "skipped", Timestamp: "2026-01-02T03:04:13Z"}
	if len(doc.Stages) != 3 || doc.Stages[0] != begun || doc.Stages[1].Status != "complete" || doc.Stages[2] != behind {
		t.Errorf("at its end: %+v", doc.Stages)
	}
}

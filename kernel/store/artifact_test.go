package store_test

import (
	"testing"

	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/store"
)

// DIALECT B3: the names of artifacts differ by position, visit, run and provider.
func TestArtifact(t *testing.T) {
	for name, tt := range map[string]struct {
		at            event.Location
		visit, newest string
	}{
		"a stage":                {event.Location{Node: "0", Visit: 1, Run: 1, Iteration: 3}, "00-plan.v1", "00-plan"},
		"a visit more":           {event.Location{Node: "0", Visit: 12, Run: 1}, "00-plan.v12", "00-plan"},
		"a run more":             {event.Location{Node: "0", Visit: 1, Run: 2}, "00-plan.r2.v1", "00-plan"},
		"in an embedded one":     {event.Location{Node: "2.0", Visit: 1, Run: 1}, "02-00-a.v1", "02-00-a"},
		"its next run":           {event.Location{Node: "2.0", Visit: 1, Run: 3}, "02-00-a.r3.v1", "02-00-a"},
		"a stage of a block":     {event.Location{Node: "1.1", Visit: 2, Run: 1, Branch: "codex"}, "01-01-codex-review.v2", "01-01-codex-review"},
		"an id no file can have": {event.Location{Node: "3", Visit: 1, Run: 1}, "03-a_b-c14cddc0.v1", "03-a_b-c14cddc0"},
	} {
		t.Run(name, func(t *testing.T) {
			visit, newest, err := store.ArtifactFiles(samplePlan(), tt.at)
			if err != nil || visit != "artifacts/"+tt.visit+".yaml" || newest != "artifacts/"+tt.newest+".yaml" {
				t.Errorf("%q, %q, %v", visit, newest, err)
			}
		})
	}
	if _, _, err := store.ArtifactFiles(samplePlan(), event.Location{Node: "9"}); err == nil {
		t.Error("a node that is not there has an artifact")
	}
}

// The artifacts given to a run have names that no node's artifact has.
func TestGivenArtifacts(t *testing.T) {
	given, newest, err := store.InitialArtifact(samplePlan(), "0")
	if err != nil || given != "artifacts/00-plan.v0.yaml" || newest != "artifacts/00-plan.yaml" {
		t.Errorf("%q, %q, %v", given, newest, err)
	}
	for want, at := range map[string]event.Location{
		"artifacts/02-inner.input.v1.yaml":    {Node: "2", Visit: 1, Run: 1},
		"artifacts/02-inner.input.r3.v2.yaml": {Node: "2", Visit: 2, Run: 3},
	} {
		if got, err := store.EmbeddedInput(samplePlan(), at); err != nil || got != want {
			t.Errorf("%q, want %q, %v", got, want, err)
		}
	}
	_, _, err = store.InitialArtifact(samplePlan(), "9")
	if _, errInput := store.EmbeddedInput(samplePlan(), event.Location{Node: "9"}); err == nil || errInput == nil {
		t.Error("a node that is not there has files")
	}
}

func TestContractFiles(t *testing.T) {
	n := store.Node("stage-00-plan")
	it := n.Iteration(2)
	for want, got := range map[string]string{
		"stage-00-plan/checks/before.json":                      n.Check("before"),
		"stage-00-plan/steps/s-1/step.json":                     n.StepFile("s-1"),
		"stage-00-plan/steps/___-5ec1f7e7/step.json":            n.StepFile(".."),
		"stage-00-plan/iterations/002/artifact.yaml":            it.Artifact(),
		"stage-00-plan/iterations/002/artifact.json":            it.ArtifactJSON(),
		"stage-00-plan/iterations/002/checks/tests.json":        it.Check("tests"),
		"stage-00-plan/iterations/002/checks/a_b-c14cddc0.json": it.Check("a/b"),
		"stage-00-plan/iterations/002/feedback.md":              it.Feedback(),
	} {
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

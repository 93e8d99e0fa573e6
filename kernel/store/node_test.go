package store_test

import (
	"path"
	"strings"
	"testing"

	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/kernel/store"
)

// samplePlan returns a plan with a node of each kind.
func samplePlan() *plan.Plan {
	return &plan.Plan{Nodes: []plan.Node{
		{Path: "0", ID: "plan", Kind: plan.KindStage},
		{Path: "1", ID: "both", Kind: plan.KindParallel, Stages: []plan.Node{
			{Path: "1.0", ID: "draft", Kind: plan.KindStage}, {Path: "1.1", ID: "review", Kind: plan.KindStage},
		}},
		{Path: "2", ID: "inner", Kind: plan.KindPipeline, Plan: &plan.Plan{Nodes: []plan.Node{
			{Path: "0", ID: "a", Kind: plan.KindStage},
			{Path: "1", ID: "side", Kind: plan.KindParallel, Stages: []plan.Node{{Path: "1.0", ID: "b", Kind: plan.KindStage}}},
		}}},
		{Path: "3", ID: "a/b", Kind: plan.KindStage},
	}}
}

func TestAt(t *testing.T) {
	tests := map[string]struct {
		at   event.Location
		want store.Node
	}{
		"stage":                     {event.Location{Node: "0", Visit: 1, Run: 1}, "stage-00-plan"},
		"place without counters":    {event.Location{Node: "0"}, "stage-00-plan"},
		"second visit":              {event.Location{Node: "0", Visit: 2, Run: 1}, "stage-00-plan/visit-002"},
		"second run":                {event.Location{Node: "0", Visit: 1, Run: 2}, "stage-00-plan/run-002"},
		"visit and run":             {event.Location{Node: "0", Visit: 12, Run: 3}, "stage-00-plan/visit-012/run-003"},
		"step":                      {event.Location{Node: "0", Visit: 2, Run: 1, Step: "s1"}, "stage-00-plan/visit-002/steps/s1"},
		"block":                     {event.Location{Node: "1", Visit: 1, Run: 1}, "parallel-01-both"},
		"provider of a block":       {event.Location{Node: "1", Branch: "claude"}, "parallel-01-both/providers/claude"},
		"stage of a block":          {event.Location{Node: "1.1", Visit: 1, Run: 1, Branch: "codex"}, "parallel-01-both/providers/codex/stage-01-review"},
		"second visit of a block":   {event.Location{Node: "1.0", Visit: 2, Run: 1, Branch: "codex"}, "parallel-01-both/visit-002/providers/codex/stage-00-draft"},
		"provider with a slash":     {event.Location{Node: "1", Branch: "../x"}, "parallel-01-both/providers/.._x-d6b96a97"},
		"nested pipeline":           {event.Location{Node: "2"}, "pipeline-02-inner/run-001"},
		"stage of a nested one":     {event.Location{Node: "2.0", Visit: 2, Run: 3}, "pipeline-02-inner/run-003/stage-00-a/visit-002"},
		"block of a nested one":     {event.Location{Node: "2.1.0", Visit: 1, Run: 2, Branch: "x"}, "pipeline-02-inner/run-002/parallel-01-side/providers/x/stage-00-b"},
		"id that no file can have":  {event.Location{Node: "3"}, "stage-03-a_b-c14cddc0"},
		"step that leads elsewhere": {event.Location{Node: "0", Step: ".."}, "stage-00-plan/steps/___-5ec1f7e7"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got := must(store.NodeAt(samplePlan(), tt.at))
			compare(t, tt.want, got)
		})
	}
	for _, missing := range []string{"", "9", "0.0", "1.7", "2.2"} {
		got, err := store.NodeAt(samplePlan(), event.Location{Node: missing})
		require(t, err != nil, missing, got)
	}
}

func TestProvider(t *testing.T) {
	got, err := store.ProviderAt(samplePlan(), event.Location{Node: "1.1", Visit: 2, Run: 1, Branch: "codex", Iteration: 3})
	require(t, err == nil && got == "parallel-01-both/visit-002/providers/codex", got, err)
}

func TestNodeFiles(t *testing.T) {
	n := store.Node("stage-00-plan")
	i := n.Iteration(7)
	got := []string{
		n.Progress(), n.Output(1, 1), n.Output(1, 3), n.Output(3, 3), n.Output(2, 0),
		string(i), i.Context(), i.Result(), i.Status(), i.Output(), i.Attempts(), i.Error(), i.Judge(), i.JudgeLog(), i.Attempt(2),
		store.QuestionFile("q1"), store.QuestionFile("../q"), store.ProgressFile("s"), store.LockFile("s"),
		string(n.Iteration(1234)), n.Manifest(), n.State(),
	}
	want := []string{
		"stage-00-plan/progress.md", "stage-00-plan/output.md", "stage-00-plan/run-0.md", "stage-00-plan/run-2.md", "stage-00-plan/run-1.md",
		"stage-00-plan/iterations/007",
		"stage-00-plan/iterations/007/context.json", "stage-00-plan/iterations/007/result.json",
		"stage-00-plan/iterations/007/status.json", "stage-00-plan/iterations/007/output.md",
		"stage-00-plan/iterations/007/attempts.jsonl", "stage-00-plan/iterations/007/error.json",
		"stage-00-plan/iterations/007/judge.json", "stage-00-plan/iterations/007/judge.log",
		"stage-00-plan/iterations/007/attempts/02",
		"questions/q1.json", "questions/.._q-06697e20.json", "progress-s.md", ".claude/locks/s.lock",
		"stage-00-plan/iterations/1234", "stage-00-plan/manifest.json", "stage-00-plan/state.json",
	}
	compare(t, want, got)
}

// The directory of a step with any name is below the node's, is one element, and is unique.
func FuzzStepDirectory(f *testing.F) {
	for _, seed := range []string{"s1", "", ".", "..", "../..", "a/b", `a\b`, "\x00", "\xff", strings.Repeat("ü", 200), "größe"} {
		f.Add(seed, seed+"x")
	}
	f.Fuzz(func(t *testing.T, one, two string) {
		at := func(step string) string {
			return string(must(store.NodeAt(samplePlan(), event.Location{Node: "0", Step: step})))
		}
		for _, step := range []string{one, two} {
			if got := at(step); step != "" && (path.Dir(got) != "stage-00-plan/steps" || len(path.Base(got)) > 255 || strings.ContainsRune(got, 0)) {
				t.Errorf("step %q is at %q", step, got)
			}
		}
		if one != two && at(one) == at(two) {
			t.Errorf("steps %q and %q share %q", one, two, at(one))
		}
	})
}

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
			require(t, err == nil && visit == "artifacts/"+tt.visit+".yaml" && newest == "artifacts/"+tt.newest+".yaml", visit, newest, err)
		})
	}
	_, _, err := store.ArtifactFiles(samplePlan(), event.Location{Node: "9"})
	require(t, err != nil, "a node that is not there has an artifact")
}

// The artifacts given to a run have names that no node's artifact has.
func TestInitialArtifact(t *testing.T) {
	given, newest, err := store.InitialArtifact(samplePlan(), "0")
	require(t, err == nil && given == "artifacts/00-plan.v0.yaml" && newest == "artifacts/00-plan.yaml", given, newest, err)
	for want, at := range map[string]event.Location{
		"artifacts/02-inner.input.v1.yaml":    {Node: "2", Visit: 1, Run: 1},
		"artifacts/02-inner.input.r3.v2.yaml": {Node: "2", Visit: 2, Run: 3},
	} {
		compare(t, want, must(store.EmbeddedInput(samplePlan(), at)))
	}
	_, _, err = store.InitialArtifact(samplePlan(), "9")
	_, errInput := store.EmbeddedInput(samplePlan(), event.Location{Node: "9"})
	require(t, err != nil && errInput != nil, "a node that is not there has files")
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
		compare(t, want, got)
	}
}

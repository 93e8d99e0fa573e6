package dryrun_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/dodo-digital/agent-pipelines/engine/internal/dryrun"
	"github.com/dodo-digital/agent-pipelines/engine/internal/testkit"
	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/kernel/sources"
)

const runs = ".claude/pipeline-runs/s/"

// look simulates a plan and returns its stages.
func look(t *testing.T, p *plan.Plan, mode, project string) []dryrun.Stage {
	t.Helper()
	p.Session.Name = "s"
	began := start
	began.Mode = mode
	way := testkit.Must(dryrun.Simulate(p, "s", began, nil))
	library := fstest.MapFS{"stages/shipped/prompt.md": {Data: []byte("shipped ${ITERATION}\n")}}
	return testkit.Must(dryrun.Stages(p, way.End, sources.Roots{Project: project, Library: library}))
}

// U017: every prompt of a first iteration is resolved, and unresolved variables are listed.
func TestStages(t *testing.T) {
	project := t.TempDir()
	testkit.OK(t, os.WriteFile(filepath.Join(project, "p.md"), []byte("${SESSION} ${WHO} ${CONTEXT} ${OUTPUT_PATH} ${WHO}\n"), 0o600))
	a := stage("0", "a", fixed(3))
	a.Prompt, a.PromptPath, a.Ref, a.Context, a.OutputPath = "", "p.md", "writer", "soon ${X}", "out/${SESSION}.md"
	b := stage("1", "b", fixed(1))
	b.Prompt = "${CTX} ${PROGRESS} ${OUTPUT}"
	b.Inputs = plan.Inputs{"from": json.RawMessage(`"a"`), "select": json.RawMessage(`"all"`)}
	c := stage("3", "c", fixed(1))
	c.Prompt, c.PromptPath = "", ".claude/pipeline-runs/s/library/stages/shipped/prompt.md"
	c.Inputs = plan.Inputs{"from": json.RawMessage(`"a"`), "from_parallel": json.RawMessage(`"inner"`)}
	p := &plan.Plan{
		Session:  plan.Session{Inputs: []string{"/in.md"}},
		Pipeline: plan.Pipeline{Commands: map[string]string{"test": "make"}},
		Nodes:    []plan.Node{a, b, block("2", "both"), c},
	}
	got := look(t, p, "pipeline", project)
	if len(got) != 5 {
		t.Fatalf("%d stages", len(got))
	}
	wantA := dryrun.Stage{
		Node: "0", ID: "a", Ref: "writer", Provider: "agent", Model: "big", Termination: fixed(3), Commands: []string{"test"},
		Inputs: dryrun.Inputs{Initial: []string{"/in.md"}, Outputs: []string{}},
		Files: dryrun.Files{
			Dir: runs + "stage-00-a/iterations/001", Context: runs + "stage-00-a/iterations/001/context.json",
			Result: runs + "stage-00-a/iterations/001/result.json", Progress: runs + "stage-00-a/progress.md", Output: "out/s.md",
		},
		PromptPath: "p.md", Prompt: "s ${WHO} soon ${X} out/s.md ${WHO}", Unresolved: []string{"${WHO}"},
	}
	testkit.Equal(t, wantA, got[0])
	wantB := strings.Join([]string{"stage-01-b/iterations/001/context.json", "stage-01-b/progress.md", "stage-01-b/output.md"}, " ")
	testkit.Equal(t, wantB, strings.ReplaceAll(got[1].Prompt, filepath.Join(project, runs)+"/", ""))
	outputs := []string{runs + "stage-00-a/iterations/001/output.md", runs + "stage-00-a/iterations/002/output.md", runs + "stage-00-a/iterations/003/output.md"}
	testkit.Equal(t, dryrun.Inputs{Initial: []string{"/in.md"}, From: "a", Outputs: outputs}, got[1].Inputs)
	if got[2].Branch != "agent" || got[3].Branch != "other" || got[3].Model != "big" || got[3].Files.Progress != runs+"parallel-02-both/providers/other/progress.md" {
		t.Errorf("stages of the block: %+v", got[2:4])
	}
	if got[4].Prompt != "shipped 1" || string(got[4].Inputs.Parallel) != `"inner"` || len(got[4].Inputs.Outputs) != 1 {
		t.Errorf("c: %+v", got[4])
	}
}

// In a loop the progress file is the session's, and the stage has no output file.
func TestStageOfALoop(t *testing.T) {
	n := stage("0", "a", fixed(1))
	n.Prompt = "[${OUTPUT}]"
	got := look(t, &plan.Plan{Nodes: []plan.Node{n}}, "loop", t.TempDir())
	if got[0].Prompt != "[]" || got[0].Files.Progress != runs+"progress-s.md" {
		t.Errorf("%+v", got[0])
	}
}

// The stages of an embedded pipeline have their paths in the outer plan.
func TestEmbeddedStages(t *testing.T) {
	inner := &plan.Plan{Session: plan.Session{Name: "inner"}, Nodes: []plan.Node{stage("0", "x", fixed(1)), block("1", "y")}}
	p := &plan.Plan{Session: plan.Session{Name: "s"}, Nodes: []plan.Node{{Path: "0", ID: "sub", Kind: plan.KindPipeline, Runs: 1, Plan: inner}}}
	way := testkit.Must(dryrun.Simulate(&plan.Plan{}, "s", event.SessionStartData{Mode: "pipeline"}, nil))
	stages := testkit.Must(dryrun.Stages(p, way.End, sources.Roots{Project: t.TempDir()}))
	var got []string
	for _, s := range stages {
		got = append(got, s.Node+" "+s.Branch+" "+s.Files.Dir)
	}
	want := []string{
		"0.0  " + runs + "pipeline-00-sub/run-001/stage-00-x/iterations/001",
		"0.1.0 agent " + runs + "pipeline-00-sub/run-001/parallel-01-y/providers/agent/stage-00-inner/iterations/001",
		"0.1.0 other " + runs + "pipeline-00-sub/run-001/parallel-01-y/providers/other/stage-00-inner/iterations/001",
	}
	testkit.Equal(t, want, got)
}

// A prompt that cannot be read is an error that names its node.
func TestMissingPrompt(t *testing.T) {
	for _, file := range []string{"gone.md", ".claude/pipeline-runs/s/library/stages/gone/prompt.md"} {
		n := stage("0", "a", fixed(1))
		n.Prompt, n.PromptPath = "", file
		p := &plan.Plan{Session: plan.Session{Name: "s"}, Nodes: []plan.Node{n}}
		way := testkit.Must(dryrun.Simulate(p, "s", start, nil))
		if _, err := dryrun.Stages(p, way.End, sources.Roots{Project: t.TempDir(), Library: fstest.MapFS{}}); err == nil || !strings.Contains(err.Error(), "read prompt of a") {
			t.Errorf("%s: %v", file, err)
		}
	}
}

// U114: a prompt under a contract contains the artifact's path. Variables that only a run can fill stay unchanged.
func TestPromptUnderAContract(t *testing.T) {
	first, work := stage("0", "plan", fixed(1)), stage("1", "work", fixed(1))
	first.Artifact, first.Prompt = &plan.Artifact{Type: "t"}, "${ARTIFACT}"
	work.Steps, work.Prompt = &plan.Steps{From: "plan", Path: "tasks[*]"}, "${STEP} of ${INPUT_ARTIFACT}"
	project := t.TempDir()
	got := look(t, &plan.Plan{Nodes: []plan.Node{first, work}}, "pipeline", project)
	if want := filepath.Join(project, runs+"stage-00-plan/iterations/001/artifact.yaml"); got[0].Prompt != want {
		t.Errorf("prompt %q, want %q", got[0].Prompt, want)
	}
	if got[1].Prompt != "${STEP} of ${INPUT_ARTIFACT}" {
		t.Errorf("prompt %q", got[1].Prompt)
	}
}

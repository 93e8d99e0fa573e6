package attempt

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/dodo-digital/agent-pipelines/engine/internal/testkit"
	"github.com/dodo-digital/agent-pipelines/kernel"
	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/kernel/progress"
	"github.com/dodo-digital/agent-pipelines/kernel/schedule"
	"github.com/dodo-digital/agent-pipelines/kernel/state"
	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
)

// Under a contract the attempt ends before its outcome is evaluated, and its event has the usage.
func TestAttemptUnderAContract(t *testing.T) {
	b := newFixture(t, resultWriter(`{"summary":"done","outcome":"fail","artifact":{"a":1},"decision":"stop"}`))
	b.node.Artifact = &plan.Artifact{}
	e := b.run(t.Context(), 1, 1)
	d, err := event.Decode[event.AttemptCompleteData](e)
	if err != nil || e.Type != event.AttemptComplete || e.Attempt != 1 {
		t.Fatalf("%s %s, %v", e.Type, e.Data, err)
	}
	in, out := int64(10), int64(20)
	want := event.AttemptCompleteData{
		Decision: "continue", AgentDecision: "stop", Result: d.Result, Output: d.Output, Usage: &event.Usage{InputTokens: &in, OutputTokens: &out}, Model: "m1-really", DurationMS: d.DurationMS,
	}
	if diff := cmp.Diff(want, d); diff != "" || d.Output == nil {
		t.Error(diff)
	}
	want1 := `{"summary":"done","work":{"items_completed":[],"files_touched":[]},"artifacts":{"outputs":[],"paths":[]},` +
		`"signals":{"plateau_suspected":false,"risk":"low","notes":""},"outcome":"fail","artifact":{"a":1}}` + "\n"
	testkit.Equal(t, want1, b.read("iterations/001/result.json"))
}

// The artifact file of an earlier attempt does not count for the next attempt.
func TestArtifactOfAnEarlierAttempt(t *testing.T) {
	b := newFixture(t, resultWriter(`{"summary":"s"}`))
	b.node.Artifact = &plan.Artifact{}
	it := filepath.Join(b.root, ".claude/pipeline-runs/demo/stage-00-build/iterations/001")
	for _, name := range []string{"artifact.yaml", "artifact.json"} {
		testkit.OK(t, os.MkdirAll(it, 0o755))
		testkit.OK(t, os.WriteFile(filepath.Join(it, name), []byte("{}"), 0o644))
	}
	b.run(t.Context(), 1, 2)
	for _, name := range []string{"artifact.yaml", "artifact.json"} {
		if _, err := os.Stat(filepath.Join(it, name)); !os.IsNotExist(err) {
			t.Errorf("%s is still there: %v", name, err)
		}
		if got := b.read("iterations/001/attempts/02/superseded-" + name); got != "{}" {
			t.Errorf("%s: %q", name, got)
		}
	}
}

// A step's iteration has the outcome of its agent alone, because the contract is the node's. Its feedback is kept for
// the next agent.
func TestAttemptOfAStep(t *testing.T) {
	feedback := map[string]string{}
	for wrote, want := range map[string]event.Settlement{
		`{"summary":"s"}`: {Outcome: "success"},
		`{"summary":"s","outcome":"fail","message":"no compiler"}`:                               {Outcome: "fail", Message: "no compiler"},
		`{"summary":"s","outcome":"retry","signals":{"notes":"later"}}`:                          {Outcome: "retry", Message: "later"},
		`{"summary":"broken","decision":"error"}`:                                                {Outcome: "error", Message: "broken"},
		`{"summary":"s","outcome":"success","escalation":{"type":"unclear","message":"which?"}}`: {Outcome: "escalate", Message: "which?"},
		`{"summary":"s","outcome":"fail","feedback":["no compiler","no linker"]}`:                {Outcome: "fail", Message: "s"},
	} {
		b := newFixture(t, resultWriter(wrote))
		b.node.Steps = &plan.Steps{From: "plan", Path: "steps"}
		at := event.Location{Node: "0", Visit: 1, Run: 1, Step: "s1", Iteration: 1}
		c := schedule.Command{Kind: schedule.Attempt, Key: at.Key(event.KeyAttempt, 1), Location: at, Attempt: 1}
		e := b.maker.Run(t.Context(), kernel.EffectRequest{Command: c, Node: b.node, State: b.state, Record: b.records.record, Ask: b.person.ask})
		d, err := event.Decode[event.IterationCompleteData](e)
		if err != nil || e.Type != event.IterationComplete || e.Cursor.Step != "s1" || d.Result.Path != "stage-00-build/steps/s1/iterations/001/result.json" {
			t.Fatalf("%s %s, %v", e.Type, e.Data, err)
		}
		if ref := d.Feedback; ref != nil {
			feedback[wrote] = b.read("steps/s1/iterations/001/feedback.md")
		}
		d.Feedback = nil
		if diff := cmp.Diff(want, d.Settlement); diff != "" {
			t.Errorf("%s: %s", wrote, diff)
		}
	}
	wantFeedback := map[string]string{
		`{"summary":"s","outcome":"fail","message":"no compiler"}`:                               "Step s1: no compiler\n",
		`{"summary":"s","outcome":"success","escalation":{"type":"unclear","message":"which?"}}`: "Step s1: which?\n",
		`{"summary":"s","outcome":"fail","feedback":["no compiler","no linker"]}`:                "Step s1: - no compiler\n- no linker\n",
	}
	testkit.Equal(t, wantFeedback, feedback)
}

// An unknown outcome fails the attempt, under a contract only.
func TestUnknownOutcomeFailsTheAttempt(t *testing.T) {
	b := newFixture(t, resultWriter(`{"summary":"s","outcome":"done"}`))
	if e := b.run(t.Context(), 1, 1); e.Type != event.IterationComplete {
		t.Errorf("%s %s", e.Type, e.Data)
	}
	b.node.Transitions = map[plan.Outcome]plan.Edge{plan.OutcomeSuccess: {To: plan.ToDone}}
	if d := b.failure(b.run(t.Context(), 2, 1)); d.ErrorType != string(failure.ResultInvalid) {
		t.Errorf("%+v", d)
	}
}

// U106, D14: an agent of a parallel block gets files in its provider's folder, output_path included, and the loop
// state of its provider.
func TestAttemptInABlock(t *testing.T) {
	var got sdk.ExecuteRequest
	b := newFixture(t, func(ctx context.Context, req sdk.ExecuteRequest, x sdk.Exchange) (sdk.ExecuteResult, error) {
		got = req
		return resultWriter(`{"summary":"done"}`)(ctx, req, x)
	})
	b.maker.Plan.Nodes[0] = plan.Node{Path: "0", ID: "both", Kind: plan.KindParallel, Providers: []plan.BlockProvider{{Name: "agent", As: "calm"}}, Stages: []plan.Node{{
		Path: "0.0", ID: "draft", Kind: plan.KindStage, Prompt: "${PROGRESS}|${OUTPUT}|${OUTPUT_PATH}", OutputPath: "../plans/${SESSION}.md",
		Termination: plan.Termination{"type": "fixed", "max": 1},
	}}}
	blob := testkit.Must(b.maker.Dir.Write("blob", []byte("turn 3")))
	b.state.Nodes["0"] = state.Node{NodeProgress: state.NodeProgress{Visit: 1, Run: 1, Status: state.NodeRunning}, NodeLoops: state.NodeLoops{Branches: map[string]state.Branch{
		"calm": {Status: state.NodeRunning, Loop: state.Loop{Progress: state.Progress{Phase: state.PhaseAttempt}, CallInFlight: state.CallInFlight{Checkpoint: &event.CheckpointData{Turn: 3, Blob: blob}}}},
	}}}
	at := event.Location{Node: "0.0", Visit: 1, Run: 1, Branch: "calm", Iteration: 1}
	c := schedule.Command{Kind: schedule.Attempt, Key: at.Key(event.KeyAttempt, 1), Location: at, Attempt: 1}
	e := b.maker.Run(t.Context(), kernel.EffectRequest{Command: c, Node: progress.StageAt(b.maker.Plan, b.state, at), State: b.state, Record: b.records.record})
	if e.Type != event.IterationComplete {
		t.Fatalf("%s %s", e.Type, e.Data)
	}
	scope := filepath.Join(b.root, ".claude/pipeline-runs/demo/parallel-00-both/providers/calm")
	output := filepath.Join(scope, "plans/demo.md")
	testkit.Equal(t, filepath.Join(scope, "progress.md")+"||"+strings.TrimPrefix(output, b.root+"/"), got.Prompt)
	if got.Paths.Output != output || got.Paths.Progress != filepath.Join(scope, "progress.md") || got.Environment["MOCK_PROVIDER"] != "calm" {
		t.Errorf("paths %+v, environment %v", got.Paths, got.Environment)
	}
	if got.Resume == nil || string(got.Resume.Checkpoint.Blob) != "turn 3" {
		t.Errorf("resume %+v", got.Resume)
	}
	testkit.Equal(t, "working\n", string(testkit.Must(os.ReadFile(output))))
	var types []event.Type
	for _, e := range b.records.events {
		if types = append(types, e.Type); e.Type == event.WorkerComplete && (e.Cursor.Provider != "calm" || !e.Informative()) {
			t.Errorf("worker_complete at %+v, informative %v", e.Cursor, e.Informative())
		}
	}
	testkit.Equal(t, []event.Type{event.WorkerComplete}, types)
}

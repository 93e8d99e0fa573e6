package outcome

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/go-hclog"

	"github.com/dodo-digital/agent-pipelines/engine/internal/artifact"
	"github.com/dodo-digital/agent-pipelines/engine/internal/attempt"
	"github.com/dodo-digital/agent-pipelines/engine/internal/effect"
	"github.com/dodo-digital/agent-pipelines/engine/internal/inputs"
	"github.com/dodo-digital/agent-pipelines/engine/internal/testkit"
	"github.com/dodo-digital/agent-pipelines/kernel"
	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/kernel/schedule"
	"github.com/dodo-digital/agent-pipelines/kernel/state"
	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
)

// checkFunc is a check action that calls a test's function.
type checkFunc func(context.Context, sdk.HookRequest) (sdk.HookAnswer, error)

func (a checkFunc) Describe() sdk.Component { return sdk.Component{Name: plan.ActionCheck} }

func (a checkFunc) Run(ctx context.Context, req sdk.HookRequest) (sdk.HookAnswer, error) {
	return a(ctx, req)
}

func (a checkFunc) HookAction(context.Context, *plan.Hook, *plan.Node, ...string) (sdk.HookAction, error) {
	return a, nil
}

// factsCheck returns a check that answers with the facts.
func factsCheck(f string) checkFunc {
	return func(context.Context, sdk.HookRequest) (sdk.HookAnswer, error) {
		return sdk.HookAnswer{Facts: json.RawMessage(f)}, nil
	}
}

// agent is a provider that writes its result and further files.
type agent struct {
	result, output string
	files          map[string]string
}

func (a agent) Describe() sdk.Component { return sdk.Component{Name: "agent"} }

func (a agent) Provider(context.Context, string, *plan.Node, ...string) (sdk.Provider, error) {
	return a, nil
}

func (a agent) Execute(_ context.Context, req sdk.ExecuteRequest, _ sdk.Exchange) (sdk.ExecuteResult, error) {
	in, out := int64(1000), int64(500)
	err := os.WriteFile(req.Paths.Result, []byte(a.result), 0o644)
	for name, text := range a.files {
		err = errors.Join(err, os.WriteFile(filepath.Join(filepath.Dir(req.Paths.Result), name), []byte(text), 0o644))
	}
	return sdk.ExecuteResult{Outcome: sdk.OutcomeSucceeded, Output: a.output, Usage: &sdk.Usage{InputTokens: &in, OutputTokens: &out}}, err
}

// fixture is a session whose second node has a contract.
type fixture struct {
	t       *testing.T
	settler *Evaluator
	node    *plan.Node
	state   state.State
	at      event.Location
}

func newFixture(t *testing.T, checks checkFunc) *fixture {
	t.Helper()
	project, dir := testkit.Session(t, t.TempDir(), "demo")
	p := &plan.Plan{Pipeline: plan.Pipeline{Name: "p"}, Nodes: []plan.Node{
		{Path: "0", ID: "plan", Kind: plan.KindStage},
		{Path: "1", ID: "verify", Kind: plan.KindStage, Ref: "verifier", Prompt: "look", Provider: &plan.Provider{Type: "agent"}, Termination: plan.Termination{"type": "fixed", "max": 2}},
	}}
	return &fixture{
		t: t, node: &p.Nodes[1], at: event.Location{Node: "1", Visit: 1, Run: 1, Iteration: 1},
		settler: &Evaluator{Env: &effect.Env{Plan: p, Project: project, Dir: dir, Inputs: inputs.NewReader(dir, p), Log: hclog.NewNullLogger()}, Actions: checks},
		state: state.State{Identity: state.Identity{Session: "demo", RunID: "PL-1", Mode: "pipeline"}, Epoch: 1, Lifecycle: state.Lifecycle{Status: state.Running}, Position: state.Position{At: "1", Nodes: map[string]state.Node{
			"1": {NodeProgress: state.NodeProgress{Visit: 1, Run: 1, Status: state.NodeRunning}, NodeLoops: state.NodeLoops{Loop: state.Loop{Progress: state.Progress{Iteration: 1, Attempt: 1}}}},
		}}},
	}
}

func (b *fixture) loop(change func(*state.Loop)) {
	n := b.state.Nodes["1"]
	change(&n.Loop)
	b.state.Nodes["1"] = n
}

// attempt runs one attempt of the agent and records its result in the state.
func (b *fixture) attempt(a agent) {
	b.t.Helper()
	m := attempt.Runner{Env: b.settler.Env, Providers: a, Ready: func() {}}
	e := m.Run(b.t.Context(), kernel.EffectRequest{
		Command: schedule.Command{Location: b.at, Key: b.at.Key(event.KeyAttempt, 1), Attempt: 1}, Node: b.node, State: b.state,
		Record: func(context.Context, event.Event) error { return nil },
	})
	d, err := event.Decode[event.AttemptCompleteData](e)
	if err != nil || e.Type != event.AttemptComplete {
		b.t.Fatalf("%s %s %v", e.Type, e.Data, err)
	}
	b.loop(func(l *state.Loop) { l.CompletedAttempt = &d })
}

func (b *fixture) check(id string) event.CheckResultData {
	b.t.Helper()
	key := b.at.Key(event.KeyCheck, 1)
	e := b.settler.Check(b.t.Context(), kernel.EffectRequest{Command: schedule.Command{Kind: schedule.Check, Key: key, Location: b.at, Check: id}, Node: b.node, State: b.state})
	d, err := event.Decode[event.CheckResultData](e)
	if err != nil || e.Type != event.CheckResult || e.Key != key {
		b.t.Fatalf("%s %s %v", e.Type, e.Data, err)
	}
	d.DurationMS = 0
	b.loop(func(l *state.Loop) {
		l.Measured = append(l.Measured, state.Measurement{ID: d.ID, At: d.At, Passed: d.Passed, Reason: d.Reason, Facts: d.Facts, Failure: d.Failure})
	})
	return d
}

func (b *fixture) evaluate() event.Event {
	key := b.at.Key(event.KeySettle, 1)
	e := b.settler.Evaluate(b.t.Context(), kernel.EffectRequest{Command: schedule.Command{Kind: schedule.Settle, Key: key, Location: b.at}, Node: b.node, State: b.state})
	if e.Key != key || e.Attempt != 1 {
		b.t.Errorf("key %s, attempt %d", e.Key, e.Attempt)
	}
	return e
}

func (b *fixture) evaluateComplete() event.IterationCompleteData {
	b.t.Helper()
	e := b.evaluate()
	d, err := event.Decode[event.IterationCompleteData](e)
	if err != nil || e.Type != event.IterationComplete {
		b.t.Fatalf("%s %s %v", e.Type, e.Data, err)
	}
	return d
}

func (b *fixture) text(ref *event.Ref) string {
	b.t.Helper()
	if ref == nil {
		return ""
	}
	return string(testkit.Must(b.settler.Dir.ReadRef(*ref)))
}

const report = `{"type":"object","required":["status"],"properties":{"status":{"enum":["pass","fail"]}}}`

// verdict returns the contract of a verifier.
func verdict() *plan.Artifact {
	return &plan.Artifact{
		Type: "verification_report", Schema: json.RawMessage(report), KernelFields: map[string]string{"test_results": "checks.tests.counts"},
		Verdict: &plan.Verdict{Field: "status", Map: map[string]plan.Outcome{"pass": plan.OutcomeSuccess, "fail": plan.OutcomeFail}},
	}
}

const (
	bad  = `{"type":"tests","passed":false,"reason":"2 of 3 tests failed","exit_code":1,"counts":{"passed":1,"failed":2},"failed":["A","B"],"output":"boom\n"}`
	good = `{"type":"tests","passed":true,"exit_code":0,"counts":{"passed":3,"failed":0},"passed_tests":["A","B","C"]}`
)

// D6: measured tests overrule the agent's claims; a claim can only make a passing outcome worse. The artifact has the
// measured numbers.
func TestOutcomes(t *testing.T) {
	for _, tt := range []struct {
		name, facts, result, file, output string
		outcome, message, feedback        string
		counts                            string // in the artifact; "" for no artifact
	}{
		{
			name: "claims success, fails", facts: bad, result: `{"summary":"s","outcome":"success","feedback":"all good"}`,
			file: `{"status":"pass","test_results":{"passed":99}}`, outcome: "fail", message: "check tests did not pass: 2 of 3 tests failed", counts: `{"failed":2,"passed":1}`,
			feedback: "all good\n\nCheck tests did not pass: 2 of 3 tests failed\nFailed:\n- A\n- B\nThe end of its output:\nboom\n",
		},
		{
			name: "claims failure, passes", facts: good, result: `{"summary":"s","outcome":"fail","message":"it smells"}`,
			file: `{"status":"pass"}`, outcome: "fail", message: "it smells", feedback: "it smells\n", counts: `{"failed":0,"passed":3}`,
		},
		{
			name: "the verdict says fail", facts: good, result: `{"summary":"s"}`, file: "status: fail\nnotes: [one, two]\n",
			outcome: "fail", message: "status is fail", feedback: "- one\n- two\n", counts: `{"failed":0,"passed":3}`,
		},
		{name: "all is well", facts: good, result: `{"summary":"s"}`, file: "status: pass\n", outcome: "success", counts: `{"failed":0,"passed":3}`},
		{name: "in the result", facts: good, result: `{"summary":"s","artifact":{"status":"pass"}}`, outcome: "success", counts: `{"failed":0,"passed":3}`},
		{name: "in the reply", facts: good, result: `{"summary":"s"}`, output: "Here:\n```yaml\nstatus: pass\n```\n", outcome: "success", counts: `{"failed":0,"passed":3}`},
		{
			name: "the user is wanted, without an artifact", facts: bad, outcome: "escalate", message: "which one? (it asks: a or b?)",
			result:   `{"summary":"s","outcome":"success","escalation":{"type":"unclear","message":"which one?","questions":["a or b?"],"options":["a","b"]}}`,
			feedback: "which one?\n\nA person is needed: unclear\n\nQuestions:\n- a or b?\n\nOptions:\n- a\n- b\n\nCheck tests did not pass: 2 of 3 tests failed\nFailed:\n- A\n- B\nThe end of its output:\nboom\n",
		},
		{
			name: "fails without an artifact", facts: bad, result: `{"summary":"s"}`, outcome: "fail", message: "check tests did not pass: 2 of 3 tests failed",
			feedback: "Check tests did not pass: 2 of 3 tests failed\nFailed:\n- A\n- B\nThe end of its output:\nboom\n",
		},
		{name: "the agent reports an error", facts: good, result: `{"summary":"no disk","decision":"error"}`, file: "status: pass", outcome: "error", message: "no disk", counts: `{"failed":0,"passed":3}`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := newFixture(t, factsCheck(tt.facts))
			b.node.Artifact = verdict()
			b.node.Checks = []plan.Check{{ID: "tests", Config: json.RawMessage(`{"type":"tests"}`)}}
			b.node.Transitions = map[plan.Outcome]plan.Edge{plan.OutcomeFail: {To: "plan", Feedback: "notes"}}
			a := agent{result: tt.result, output: tt.output}
			if tt.file != "" {
				a.files = map[string]string{"artifact.yaml": tt.file}
			}
			b.attempt(a)
			b.check("tests")
			d := b.evaluateComplete()
			got := []string{d.Outcome, d.Message, b.text(d.Feedback)}
			testkit.Equal(t, []string{tt.outcome, tt.message, tt.feedback}, got)
			counts := ""
			if d.Artifact != nil {
				kept := testkit.Must(artifact.Load(b.settler.Dir, *d.Artifact))
				raw, _ := json.Marshal(kept.Data["test_results"])
				counts = string(raw)
			}
			if counts != tt.counts {
				t.Errorf("counts %s, want %s", counts, tt.counts)
			}
		})
	}
}

// DIALECT B3: the artifact has its envelope, and iteration_complete repeats the attempt's data for readers.
func TestEvaluateKeepsAttemptData(t *testing.T) {
	b := newFixture(t, nil)
	b.node.Artifact = &plan.Artifact{Type: "report", Version: "2.1"}
	b.attempt(agent{
		result: `{"summary":"done","work":{"files_touched":["a.go"],"items_completed":["x"]},"decision":"stop","signals":{"notes":"n","risk":"high"},"steps":{"s2":"failed","s1":"failed","s3":"done"}}`,
		files:  map[string]string{"artifact.json": `{"b":{"c":[1,"yes"]},"a":12345678901,"_artifact_meta":{"version":"2.9"}}`},
	})
	d := b.evaluateComplete()
	want := event.IterationCompleteData{
		Decision: "continue", Reason: "n", AgentDecision: "stop", Stage: "verify", Summary: "done", FilesTouched: []string{"a.go"}, ItemsCompleted: []string{"x"},
		Signals: event.Signals{Risk: "high", Notes: "n"}, Result: d.Result, Output: d.Output, Usage: d.Usage, DurationMS: b.state.Nodes["1"].Loop.CompletedAttempt.DurationMS,
		Settlement: event.Settlement{Outcome: "success", Artifact: d.Artifact, FailedSteps: []string{"s1", "s2"}},
	}
	if diff := cmp.Diff(want, d); diff != "" || d.Usage == nil || *d.Usage.InputTokens != 1000 {
		t.Error(diff)
	}
	if d.Artifact == nil || d.Artifact.Path != "artifacts/01-verify.v1.yaml" {
		t.Fatalf("%+v", d.Artifact)
	}
	lines := strings.Split(b.text(d.Artifact), "\n")
	for i, want := range []string{"_artifact_meta:", "  artifact_type: report", "  created_at: ", "  stage_name: verify", `  version: "2.1"`, "a: 12345678901", "b:", "  c:", "    - 1", `    - "yes"`, "_metadata:"} {
		if i >= len(lines) || !strings.HasPrefix(lines[i], want) {
			t.Fatalf("line %d is not %q:\n%s", i, want, strings.Join(lines, "\n"))
		}
	}
	newest, err := b.settler.Dir.Read("artifacts/01-verify.yaml", 1<<20)
	if err != nil || string(newest) != b.text(d.Artifact) {
		t.Errorf("%q, %v", newest, err)
	}
	kept, err := artifact.Load(b.settler.Dir, *d.Artifact)
	if err != nil || kept.Metadata.TokensUsed != 1500 || kept.Metadata.PipelineID != "PL-1" || kept.Metadata.Iteration != 1 {
		t.Errorf("%+v, %v", kept, err)
	}
	testkit.Equal(t, map[string]any{"a": 12345678901, "b": map[string]any{"c": []any{1, "yes"}}}, kept.Data)
}

// ACODE-ORCH-001: an invalid artifact is a retryable error with all its faults.
func TestBadArtifacts(t *testing.T) {
	for _, tt := range []struct{ name, file, kind, message string }{
		{"none", "", "result_missing", "the agent left no artifact"},
		{"no YAML", "a: [", "result_invalid", "the artifact in artifact.yaml is not what the contract says: $: VAL-004: is neither YAML nor JSON that can be read: line 1"},
		{"a list", "[1]", "result_invalid", "the artifact in artifact.yaml is not what the contract says: $: VAL-002: must be an object, not a list"},
		{"two faults", "{status: maybe}", "result_invalid", "the artifact in artifact.yaml is not what the contract says: $.test_results: VAL-001: is checks.tests.counts, which was not measured; $.status: VAL-008"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := newFixture(t, nil)
			b.node.Artifact = verdict()
			a := agent{result: `{"summary":"s"}`, output: "Note: I am done"}
			if tt.file != "" {
				a.files = map[string]string{"artifact.yaml": tt.file}
			}
			b.attempt(a)
			e := b.evaluate()
			d, err := event.Decode[event.FailureData](e)
			if err != nil || e.Type != event.Error {
				t.Fatalf("%s %s %v", e.Type, e.Data, err)
			}
			if len(d.Faults) == 0 || !strings.HasPrefix(d.Detail, d.Faults[0].Path+": "+d.Faults[0].Code+": "+d.Faults[0].Message) {
				t.Errorf("faults %v, detail %q", d.Faults, d.Detail)
			}
			if d.ErrorType != tt.kind || !strings.HasPrefix(d.Message, tt.message) || !d.Retryable || d.Code != "ACODE-ORCH-001" || d.Remedy == "" || d.Attempt != 1 || d.Node != "verify" {
				t.Errorf("%+v", d)
			}
			record, err := b.settler.Dir.Read("stage-01-verify/iterations/001/error.json", 1<<20)
			if err != nil || !strings.Contains(string(record), tt.kind) {
				t.Errorf("error.json %s, %v", record, err)
			}
		})
	}
}

// A failed check decides the outcome even if another check could not run.
func TestMeasured(t *testing.T) {
	passed := state.Measurement{ID: "a", Passed: true}
	failed := state.Measurement{ID: "b", Reason: "exit 1"}
	unknown := state.Measurement{ID: "c", Failure: &event.FailureData{Message: "no such program"}}
	for _, tt := range []struct {
		checks  []state.Measurement
		outcome plan.Outcome
		message string
	}{
		{nil, "", ""},
		{[]state.Measurement{passed}, "", ""},
		{[]state.Measurement{passed, failed}, plan.OutcomeFail, "check b did not pass: exit 1"},
		{[]state.Measurement{unknown, passed}, plan.OutcomeError, "check c could not be made: no such program"},
		{[]state.Measurement{unknown, failed}, plan.OutcomeFail, "check b did not pass: exit 1; check c could not be made: no such program"},
	} {
		if o, m := checksOutcome(tt.checks); o != tt.outcome || m != tt.message {
			t.Errorf("%v: %q %q", tt.checks, o, m)
		}
	}
}

// An iteration of a node with steps has no agent of its own: its result and output come from the results of its steps.
func TestEvaluateSteps(t *testing.T) {
	b := newFixture(t, nil)
	b.node.Steps = &plan.Steps{From: "plan", Path: "steps"}
	b.node.Artifact = &plan.Artifact{KernelFields: map[string]string{"ok": "checks.build.passed"}}
	ref := testkit.Must(b.settler.Dir.Write("stage-01-verify/iterations/001/checks/build.json", []byte(`{"type":"command","passed":true}`)))
	testkit.Must(b.settler.Dir.Write("stage-01-verify/steps/s1/iterations/002/result.json", []byte(`{"summary":"two\nlines","work":{"files_touched":["a","b"]}}`)))
	n := b.state.Nodes["1"]
	n.Order = []string{"s1", "s2", "s3"}
	n.Steps = map[string]state.Step{
		"s1": {Status: state.StepComplete, Last: 2, StepData: event.StepData{ID: "s1", Title: "first"}},
		"s2": {Status: state.StepSkipped, Reason: "r", StepData: event.StepData{ID: "s2"}}, "s3": {Status: state.StepComplete, Last: 1, StepData: event.StepData{ID: "s3"}},
	}
	n.Loop.Measured = []state.Measurement{{ID: "build", At: plan.AtExit, Passed: true, Facts: &ref}}
	b.state.Nodes["1"] = n
	d := b.evaluateComplete()
	if d.Outcome != "success" || d.Summary != "3 of 3 steps are done" || !cmp.Equal(d.FilesTouched, []string{"a", "b"}) || !cmp.Equal(d.ItemsCompleted, []string{"s1", "s2", "s3"}) {
		t.Errorf("%+v", d)
	}
	testkit.Equal(t, "- s1 (first): complete\n  two\n  lines\n- s2: skipped\n- s3: complete\n", b.text(d.Output))
	if got := b.text(d.Artifact); !strings.Contains(got, "\nok: true\n") {
		t.Errorf("artifact %q", got)
	}
	n.Steps["s3"] = state.Step{Status: state.StepFailed, Reason: "no compiler", StepData: event.StepData{ID: "s3"}}
	d = b.evaluateComplete()
	if d.Outcome != "fail" || d.Message != "step s3 failed: no compiler" || b.text(d.Feedback) != "Step s3 failed: no compiler\n" {
		t.Errorf("%+v %q", d, b.text(d.Feedback))
	}
}

// If the failed steps do not fit into a journal line, no step is named, which means all steps.
func TestFailedSteps(t *testing.T) {
	many := make([]any, 600)
	for i := range many {
		many[i] = strings.Repeat("x", 20) + string(rune('a'+i%26)) + string(rune('a'+i/26))
	}
	for _, tt := range []struct {
		named any
		want  []string
	}{
		{[]any{"s2", "s1", "s2", ""}, []string{"s2", "s1"}},
		{"s7", []string{"s7"}},
		{[]any{1}, nil},
		{many, nil},
	} {
		k := &iterationEvaluation{candidate: artifact.Candidate{Data: map[string]any{"failed_steps": tt.named}}}
		testkit.Equal(t, tt.want, k.failedSteps())
	}
}

// A session file whose digest has changed is an error.
func TestEvaluateDetectsChangedFiles(t *testing.T) {
	b := newFixture(t, nil)
	b.node.Artifact = &plan.Artifact{}
	b.attempt(agent{result: `{"summary":"s","artifact":{"a":1}}`})
	testkit.OK(t, os.WriteFile(b.settler.Dir.Abs("stage-01-verify/iterations/001/result.json"), []byte(`{"summary":"other"}`), 0o644))
	e := b.evaluate()
	d, err := event.Decode[event.FailureData](e)
	if err != nil || d.ErrorType != string(failure.Tampered) || !d.System || d.Retryable {
		t.Errorf("%s %s %v", e.Type, e.Data, err)
	}
}

// U316: the content of an iteration is that of its artifact and of the project's files, where passes are compared.
func TestContent(t *testing.T) {
	content := func(identical int, artifact, file string) string {
		t.Setenv("XDG_STATE_HOME", t.TempDir())
		b := newFixture(t, nil)
		b.node.Artifact = &plan.Artifact{}
		b.node.Policy = &plan.Policy{Cycles: &plan.Cycles{Identical: identical}}
		b.attempt(agent{result: `{"summary":"s","artifact":` + artifact + `}`})
		testkit.OK(t, os.WriteFile(filepath.Join(b.settler.Project.Path(), "a.txt"), []byte(file), 0o644))
		return testkit.Must(event.Decode[event.IterationCompleteData](b.evaluate())).Content
	}
	first := content(2, `{"a":1}`, "x")
	if first == "" || content(2, `{"a":1}`, "x") != first {
		t.Errorf("the same data and files give %q, then another content", first)
	}
	if content(2, `{"a":2}`, "x") == first || content(2, `{"a":1}`, "y") == first {
		t.Error("other data or files give the same content")
	}
	if got := content(0, `{"a":1}`, "x"); got != "" {
		t.Errorf("without comparison the content is %q", got)
	}
}

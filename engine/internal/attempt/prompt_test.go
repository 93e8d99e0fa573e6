package attempt

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/dodo-digital/agent-pipelines/engine/internal/contextstrategy"
	"github.com/dodo-digital/agent-pipelines/engine/internal/inputs"
	"github.com/dodo-digital/agent-pipelines/engine/internal/prompt"
	"github.com/dodo-digital/agent-pipelines/engine/internal/testkit"
	"github.com/dodo-digital/agent-pipelines/kernel"
	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/kernel/schedule"
	"github.com/dodo-digital/agent-pipelines/kernel/state"
	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
)

// requestRecorder returns an agent that keeps its request.
func requestRecorder(received *sdk.ExecuteRequest) agent {
	return func(_ context.Context, req sdk.ExecuteRequest, _ sdk.Exchange) (sdk.ExecuteResult, error) {
		*received = req
		err := os.WriteFile(req.Paths.Result, []byte(`{"summary": "done"}`), 0o600)
		return sdk.ExecuteResult{Output: "done"}, err
	}
}

func (b *fixture) file(name, text string) *event.Ref {
	b.t.Helper()
	ref := testkit.Must(b.maker.Dir.Write(name, []byte(text)))
	return &ref
}

// runAndRead performs an attempt and returns its prompt and its context.json.
func (b *fixture) runAndRead(received *sdk.ExecuteRequest) (string, map[string]any) {
	b.t.Helper()
	if e := b.run(b.t.Context(), 1, 1); e.Type != event.IterationComplete && e.Type != event.AttemptComplete {
		b.t.Fatalf("%s %s", e.Type, e.Data)
	}
	var c map[string]any
	testkit.OK(b.t, json.Unmarshal([]byte(b.read("iterations/001/context.json")), &c))
	return received.Prompt, c
}

// withPlan adds a node with an input artifact for the tested node, and an edge that leads back to it.
func (b *fixture) withPlan() {
	before := plan.Node{Path: "1", ID: "plan", Kind: plan.KindStage, Artifact: &plan.Artifact{}, Transitions: map[plan.Outcome]plan.Edge{"fail": {To: "build"}}}
	b.maker.Plan.Nodes = append(b.maker.Plan.Nodes, before)
	b.node = &b.maker.Plan.Nodes[0]
	b.node.Inputs = plan.Inputs{"from": []byte(`"plan"`)}
	b.state.Nodes["1"] = state.Node{NodeProgress: state.NodeProgress{Visit: 1, Run: 1}, Artifacts: map[string]event.Ref{event.Artifact: *b.file("artifacts/01-plan.v1.yaml", "goal: g\n")}}
}

func TestContractFillsVariables(t *testing.T) {
	var received sdk.ExecuteRequest
	b := newFixture(t, requestRecorder(&received))
	b.withPlan()
	b.node.Prompt = "A=${ARTIFACT}\nI=${INPUT_ARTIFACT}\nF=${FEEDBACK}\nS=${STEP}"
	b.node.Artifact = &plan.Artifact{Type: "report", Schema: []byte(`{"type":"object"}`)}
	ns := b.state.Nodes["0"]
	ns.Loop.Feedback = b.file("feedback.md", "Try harder.\n[[agent-pipelines: request]]\n")
	b.state.Nodes["0"] = ns
	b.state.Cycles = map[string]state.Cycle{"plan:fail->build": {Count: 2, Limit: 3}}
	got, c := b.runAndRead(&received)
	session := filepath.Join(b.root, ".claude/pipeline-runs/demo")
	want := "A=" + session + "/stage-00-build/iterations/001/artifact.yaml\nI=" + session + "/artifacts/01-plan.v1.yaml\n" +
		"F=[[agent-pipelines: feedback]]\nTry harder.\n[ agent-pipelines: request]]\n[[agent-pipelines: end of feedback]]\nS="
	testkit.Equal(t, want, got)
	for _, key := range []string{"session", "parallel_scope"} {
		if _, ok := c[key]; !ok {
			t.Errorf("context.json lacks %s", key)
		}
		delete(c, key)
	}
	for _, key := range []string{"pipeline", "stage", "iteration", "paths", "inputs", "limits", "commands"} {
		delete(c, key)
	}
	if diff := cmp.Diff(map[string]any{
		"artifact":       map[string]any{"path": session + "/stage-00-build/iterations/001/artifact.yaml", "schema": map[string]any{"type": "object"}},
		"input_artifact": session + "/artifacts/01-plan.v1.yaml",
		"feedback":       "Try harder.\n[[agent-pipelines: request]]",
		"cycle":          map[string]any{"plan:fail->build": map[string]any{"count": 2.0, "limit": 3.0}},
	}, c); diff != "" {
		t.Errorf("context.json (-want +got)\n%s", diff)
	}
}

func TestUnplacedSectionsAreAppended(t *testing.T) {
	b := newFixture(t, nil)
	b.node.Prompt = "do it"
	b.node.Artifact = &plan.Artifact{Type: "report", Version: "1.0", Schema: []byte(`{"type":"object"}`), KernelFields: map[string]string{"tests": "checks.tests.counts", "all": "x"}}
	b.state.Context = "mind the gap"
	b.state.Nodes["0"] = state.Node{NodeProgress: state.NodeProgress{Visit: 1, Run: 1}, Entry: state.Entry{Feedback: b.file("feedback.md", "this is wrong\n")}}
	node := filepath.Join(b.root, ".claude/pipeline-runs/demo/stage-00-build")
	want := "do it\n\nmind the gap\n\n" +
		"[[agent-pipelines: artifact]]\nWrite the artifact of this stage to " + node + "/iterations/001/artifact.yaml, as YAML or JSON.\nType: report\nVersion: 1.0\n" +
		"Leave out, since they are measured: all, tests\nJSON Schema: {\"type\":\"object\"}\n[[agent-pipelines: end of artifact]]\n\n" +
		"[[agent-pipelines: feedback]]\nthis is wrong\n[[agent-pipelines: end of feedback]]"
	testkit.Equal(t, want, b.prompt("").Prompt)
	for from, wanted := range map[string]string{
		"result": `result.json, as the member "artifact".`, "output": "End your answer with the artifact of this stage, in a fenced block of YAML or JSON.",
	} {
		b.node.Artifact.From = from
		if got := b.prompt(""); !strings.Contains(got.Prompt, wanted) {
			t.Errorf("from %s:\n%s", from, got.Prompt)
		}
	}
}

// A step is appended to the prompt. All steps have the path of the node's artifact, which they make together.
func TestStepIsAppended(t *testing.T) {
	b := newFixture(t, nil)
	b.node.Prompt, b.node.Artifact, b.node.Steps = "do it, ${ARTIFACT}", &plan.Artifact{}, &plan.Steps{From: "plan"}
	b.state.Nodes["0"] = state.Node{
		NodeProgress: state.NodeProgress{Visit: 1, Run: 1}, NodeLoops: state.NodeLoops{
			Order: []string{"s1", "s2"}, Loop: state.Loop{Progress: state.Progress{Iteration: 2}},
			Steps: map[string]state.Step{"s1": {StepData: event.StepData{ID: "s1", Item: *b.file("s1.json", "{\"id\":\"s1\"}\n")}}},
		}, Entry: state.Entry{Feedback: b.file("feedback.md", "s2 is wrong\n")},
	}
	node := filepath.Join(b.root, ".claude/pipeline-runs/demo/stage-00-build")
	want := "do it, " + node + "/iterations/002/artifact.yaml\n\n[[agent-pipelines: step s1]]\n{\"id\":\"s1\"}\n[[agent-pipelines: end of step s1]]"
	testkit.Equal(t, want+"\n\n[[agent-pipelines: feedback]]\ns2 is wrong\n[[agent-pipelines: end of feedback]]", b.prompt("s1").Prompt)
	b.node.Policy = &plan.Policy{Context: "focused"} // lines that name another step are omitted
	testkit.Equal(t, want, b.prompt("s1").Prompt)
	b.node.Prompt, b.node.Artifact = "do ${STEP}", nil
	testkit.Equal(t, `do {"id":"s1"}`, b.prompt("s1").Prompt)
}

// prompt returns the prompt data of a step.
func (b *fixture) prompt(step string) prompt.Data {
	b.t.Helper()
	at := event.Location{Node: "0", Visit: 1, Run: 1, Step: step, Iteration: 1}
	e := b.maker.New("attempt", kernel.EffectRequest{Node: b.node, State: b.state, Command: schedule.Command{Location: at, Attempt: 1}})
	it := testkit.Must(e.Iteration())
	s := &prompt.Source{Effect: e, Paths: inputs.Paths{Result: b.maker.Dir.Abs(it.Result())}, Artifact: it.Artifact(), Providers: b.maker.Providers}
	return testkit.Must(s.Build(b.t.Context()))
}

func TestVariablesWithoutContract(t *testing.T) {
	var received sdk.ExecuteRequest
	b := newFixture(t, requestRecorder(&received))
	b.node.Prompt = "${ARTIFACT} ${INPUT_ARTIFACT} ${FEEDBACK} ${STEP}"
	got, c := b.runAndRead(&received)
	if got != b.node.Prompt {
		t.Errorf("prompt %q", got)
	}
	if len(c) != 9 {
		t.Errorf("context.json has new members: %v", c)
	}
	ns := b.state.Nodes["0"]
	ns.Feedback = b.file("feedback.md", "an edge led here") // the node that the edge leaves has a contract
	b.state.Nodes["0"] = ns
	if got, _ := b.runAndRead(&received); !strings.HasPrefix(got, b.node.Prompt+"\n\n[[agent-pipelines: feedback]]\nan edge led here\n") {
		t.Errorf("prompt %q", got)
	}
}

// setBudget limits the prompts of the node.
func (b *fixture) setBudget(total string, strategy string) {
	b.maker.Plan.Pipeline.Policy = &plan.Policy{Context: strategy, Budget: &plan.Budget{Total: []byte(total), Shares: map[string]int{"build": 50}}}
}

// D9, U205: a 200 KB file is cut to the node's share of the budget, always in the same way, and an event records it.
func TestLargeFileIsCutToShare(t *testing.T) {
	var prompts []string
	for range 2 {
		var received sdk.ExecuteRequest
		b := newFixture(t, requestRecorder(&received))
		text := strings.Repeat("0123456789abcde\n", 200<<10/16)
		b.maker.Plan.Session.Inputs = []string{filepath.Join(b.root, "big.txt")}
		testkit.OK(t, os.WriteFile(filepath.Join(b.root, "big.txt"), []byte(text), 0o600))
		b.setBudget("2000", "summary")
		got, c := b.runAndRead(&received)
		if n := contextstrategy.EstimateTokens(got); n > 1000 || n < 980 {
			t.Errorf("the prompt has %d tokens, of 1000", n)
		}
		if len(b.records.events) != 2 || b.records.events[0].Type != event.ContextTrimmed || b.records.events[1].Type != event.ContextBuilt {
			t.Fatalf("events %v", b.records.events)
		}
		e := b.records.events[0]
		d := testkit.Must(event.Decode[event.ContextTrimmedData](e))
		kept := strings.Count(got, "0123456789abcde\n") * 16
		want := event.ContextTrimmedData{Kind: "file", Name: "input big.txt", OriginalTokens: 200 << 10 / 4, OriginalBytes: 200 << 10, KeptTokens: kept / 4, KeptBytes: int64(kept)}
		if diff := cmp.Diff(want, d); diff != "" || kept < 3000 {
			t.Errorf("event (-want +got)\n%s", diff)
		}
		if !e.Informative() || e.Attempt != 1 || e.Key == "" || e.Cursor == nil {
			t.Errorf("event %+v", e)
		}
		testkit.Equal[any](t, map[string]any{"limit": 1000.0, "used": float64(contextstrategy.EstimateTokens(got))}, c["budget"])
		prompts = append(prompts, strings.ReplaceAll(got, b.root, "<root>"))
	}
	if prompts[0] != prompts[1] {
		t.Error("the same run gives its agent another text")
	}
}

// D9: a prompt that exceeds its share without context fails the attempt.
func TestPromptOverShareIsRefused(t *testing.T) {
	var received sdk.ExecuteRequest
	b := newFixture(t, requestRecorder(&received))
	b.node.Prompt = strings.Repeat("words ", 100)
	b.setBudget("299", "")
	d := b.failure(b.run(t.Context(), 1, 1))
	if d.ErrorType != "budget_exceeded" || d.Code != "ACODE-ORCH-005" || d.Retryable || received.Prompt != "" {
		t.Errorf("%+v", d)
	}
	if !strings.Contains(d.Message, "150 tokens") || !strings.Contains(d.Message, "its share is 149") || !strings.Contains(d.Remedy, "policy.budget.shares.build") {
		t.Errorf("%q, %q", d.Message, d.Remedy)
	}
	b.setBudget("300", "full") // exactly
	if got, _ := b.runAndRead(&received); contextstrategy.EstimateTokens(got) != 150 {
		t.Errorf("prompt %q", got)
	}
}

// sizedProvider is an agent whose model has a context of limited size.
type sizedProvider struct {
	agent
	tokens int64
}

func (k sizedProvider) Describe() sdk.Component {
	return sdk.Component{Name: "agent", Provider: &sdk.ProviderTraits{ContextTokens: k.tokens}}
}

func (k sizedProvider) Provider(context.Context, string, *plan.Node, ...string) (sdk.Provider, error) {
	return k, nil
}

func TestTotalOfTheModel(t *testing.T) {
	var received sdk.ExecuteRequest
	b := newFixture(t, requestRecorder(&received))
	b.setBudget(`"model"`, "")
	if d := b.failure(b.run(t.Context(), 1, 1)); d.ErrorType != "config_invalid" || !strings.Contains(d.Remedy, "write a number") {
		t.Errorf("%+v", d)
	}
	b.maker.Providers = sizedProvider{requestRecorder(&received), 8000}
	_, c := b.runAndRead(&received)
	testkit.Equal(t, 4000.0, c["budget"].(map[string]any)["limit"])
}

// policy.cost: an attempt's budget is the least of the reservations in all scopes, for dollars and tokens apart.
func TestBudgetOfAttempt(t *testing.T) {
	var received sdk.ExecuteRequest
	b := newFixture(t, requestRecorder(&received))
	if b.runAndRead(&received); received.Budget != nil {
		t.Errorf("budget %+v", received.Budget)
	}
	ns := b.state.Nodes["0"]
	ns.Loop.Reserved = map[string]state.Amount{"": {USD: new(2.0)}, "0": {USD: new(0.5), Tokens: new(int64(900))}, "x": {Tokens: new(int64(1000))}}
	b.state.Nodes["0"] = ns
	b.runAndRead(&received)
	testkit.Equal(t, &sdk.Budget{MaxUSD: new(0.5), MaxTokens: new(int64(900))}, received.Budget)
}

// U051: the user's text of a resume reaches the agent with and without ${CONTEXT} in the template.
func TestResumeContext(t *testing.T) {
	for name, tt := range map[string]struct{ prompt, output, want string }{
		"a place for it": {"${CONTEXT}: do it", "test first", "be brief\ntest first: do it"},
		"no place":       {"do it\n", "test ${RESULT} first", "do it\n\ntest ${RESULT} first"},
		"nothing said":   {"do it\n", "", "do it"},
	} {
		t.Run(name, func(t *testing.T) {
			var got sdk.ExecuteRequest
			b := newFixture(t, requestRecorder(&got))
			b.node.Prompt, b.state.Context = tt.prompt, tt.output
			b.run(t.Context(), 1, 1)
			testkit.Equal(t, tt.want, got.Prompt)
		})
	}
}

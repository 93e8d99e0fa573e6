package engine_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/dodo-digital/agent-pipelines/engine"
	"github.com/dodo-digital/agent-pipelines/engine/internal/testkit"
	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/kernel/state"
	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
)

// namedAgent is an agent with another name.
type namedAgent struct {
	agent
	name string
}

func (n namedAgent) Describe() sdk.Component {
	return sdk.Component{Kind: sdk.KindProvider, Name: n.name, Aliases: []string{n.name + "-alias"}, Provider: &sdk.ProviderTraits{DefaultModel: "m-" + n.name}}
}

// calls records the calls of providers.
type callLog struct {
	mu    sync.Mutex
	calls []string
}

func (c *callLog) add(req sdk.ExecuteRequest, name string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.calls = append(c.calls, name+" "+req.Node+" "+req.Model)
}

func (c *callLog) drain() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	made := slices.Sorted(slices.Values(c.calls))
	c.calls = nil
	return made
}

// twoAgentEngine returns an engine with the providers left and right, which call work.
func twoAgentEngine(t *testing.T, work func(ctx context.Context, provider string, req sdk.ExecuteRequest) error) *engine.Engine {
	t.Helper()
	named := func(name string) sdk.Provider {
		return namedAgent{agent{func(ctx context.Context, req sdk.ExecuteRequest) error { return work(ctx, name, req) }}, name}
	}
	return newEngine(t, t.TempDir(), named("left"), engine.WithProvider(named("right")))
}

func blockStage(id string, limit int) plan.Node {
	zero := 0.0
	return plan.Node{ID: id, Kind: plan.KindStage, Prompt: "go", Delay: &zero, Termination: plan.Termination{"type": "fixed", "max": limit}}
}

func parallelNode(path, id string, providers []plan.BlockProvider, stages ...plan.Node) plan.Node {
	for i := range stages {
		stages[i].Path = path + "." + string(rune('0'+i))
	}
	return plan.Node{Path: path, ID: id, Kind: plan.KindParallel, Providers: providers, Stages: stages}
}

func fromParallel(text string) plan.Inputs {
	return plan.Inputs{"from_parallel": json.RawMessage(text)}
}

// debatePlan is a pipeline in which two providers rate each other.
func debatePlan() *plan.Plan {
	review := blockStage("review", 1)
	review.Inputs = plan.Inputs{"from": json.RawMessage(`"draft"`)}
	sum := blockStage("sum", 1)
	sum.Path, sum.Provider = "2", &plan.Provider{Type: "left", Model: "m1"}
	sum.Inputs = fromParallel(`[{"stage": "draft", "select": "history", "providers": ["right", "unknown", "left"]}, "rating", "unheard-of"]`)
	return &plan.Plan{Version: plan.Version, Pipeline: plan.Pipeline{Name: "debate"}, Session: plan.Session{Name: "demo"}, Nodes: []plan.Node{
		parallelNode("0", "write", []plan.BlockProvider{{Name: "left"}, {Name: "right-alias", As: "right", Model: "own", Object: true}}, blockStage("draft", 2), review),
		parallelNode("1", "rate", []plan.BlockProvider{
			{Name: "left", Inputs: fromParallel(`{"stage": "draft", "providers": ["right"]}`), Object: true},
			{Name: "right", Inputs: fromParallel(`"draft"`), Object: true},
		}, blockStage("rating", 1)),
		sum,
	}}
}

// readJSON reads a JSON file of a session, with <S> for its directory and without times.
func readJSON(t *testing.T, dir, name string) map[string]any {
	t.Helper()
	b := testkit.Must(os.ReadFile(filepath.Join(dir, name)))
	var v map[string]any
	if err := json.Unmarshal([]byte(strings.ReplaceAll(string(b), dir, "<S>")), &v); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	for _, key := range []string{"started_at", "completed_at"} {
		if _, has := v[key]; has {
			v[key] = "~"
		}
	}
	return v
}

func wantJSON(t *testing.T, name, text string, got any) {
	t.Helper()
	var want any
	testkit.OK(t, json.Unmarshal([]byte(text), &want))
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", name, diff)
	}
}

// U095, U105, U106, D14 to D16: two providers run in parallel, rate each other, and a stage reads both
// results.
func TestParallelBlocks(t *testing.T) {
	var made callLog
	e := twoAgentEngine(t, func(_ context.Context, provider string, req sdk.ExecuteRequest) error {
		made.add(req, provider)
		return nil
	})
	result, err := e.Run(t.Context(), engine.RunOptions{Plan: debatePlan()})
	if err != nil || !result.Success {
		t.Fatalf("%+v, %v", result, err)
	}
	want := []string{
		"left draft m-left", "left draft m-left", "left rating m-left", "left review m-left", "left sum m1",
		"right draft own", "right draft own", "right rating m-right", "right review own",
	}
	testkit.Equal(t, want, made.drain())
	left := "<S>/parallel-00-write/providers/left/"
	wantJSON(t, "manifest", strings.ReplaceAll(`{
	  "block": {"name": "rate", "index": 1, "stages": ["rating"]},
	  "providers": {
	    "left": {"rating": {"latest_output": "B/left/I/output.md", "status": "B/left/I/status.json", "result": "B/left/I/result.json",
	      "iterations": 1, "termination_reason": "fixed", "history": ["B/left/I/output.md"]}},
	    "right": {"rating": {"latest_output": "B/right/I/output.md", "status": "B/right/I/status.json", "result": "B/right/I/result.json",
	      "iterations": 1, "termination_reason": "fixed", "history": ["B/right/I/output.md"]}}
	  }, "completed_at": "~"}`, "B/", "<S>/parallel-01-rate/providers/"), replaceText(readJSON(t, result.Dir, "parallel-01-rate/manifest.json"), "stage-00-rating/iterations/001", "I"))
	wantJSON(t, "provider state", `{"provider": "right", "session": "demo", "started_at": "~", "status": "complete", "current_stage": 0,
	  "iteration": 0, "iteration_completed": 0, "stages": [{"name": "draft", "iterations": 2, "termination_reason": "fixed"},
	  {"name": "review", "iterations": 1, "termination_reason": "fixed"}], "current_stage_name": "review"}`,
		readJSON(t, result.Dir, "parallel-00-write/providers/right/state.json"))

	review := readJSON(t, result.Dir, "parallel-00-write/providers/left/stage-01-review/iterations/001/context.json")
	wantJSON(t, "scope", `{"scope_root": "<S>/parallel-00-write/providers/left", "pipeline_root": "<S>"}`, review["parallel_scope"])
	wantJSON(t, "stage", `{"id": "review", "index": 1, "template": ""}`, review["stage"])
	wantJSON(t, "paths", strings.ReplaceAll(`{"session_dir": "<S>/parallel-00-write/providers/left", "stage_dir": "L/stage-01-review", "progress": "L/progress.md",
	  "output": "L/stage-01-review/iterations/001/output.md", "status": "L/stage-01-review/iterations/001/status.json",
	  "result": "L/stage-01-review/iterations/001/result.json"}`, "L/", left), review["paths"])
	wantJSON(t, "inputs", strings.ReplaceAll(`{"from_stage": {"draft": ["L/stage-00-draft/iterations/002/output.md"]}, "from_previous_iterations": [],
	  "from_initial": [], "from_parallel": {}}`, "L/", left), review["inputs"])

	rating := readJSON(t, result.Dir, "parallel-01-rate/providers/left/stage-00-rating/iterations/001/context.json")
	wantJSON(t, "single source", `{"stage": "draft", "block": "write", "select": "latest", "manifest": "<S>/parallel-00-write/manifest.json", "providers": {"right": {
	  "output": "<S>/parallel-00-write/providers/right/stage-00-draft/iterations/002/output.md",
	  "status": "<S>/parallel-00-write/providers/right/stage-00-draft/iterations/002/status.json", "iterations": 2, "termination_reason": "fixed"}}}`,
		rating["inputs"].(map[string]any)["from_parallel"])
	var order []string
	for _, source := range readJSON(t, result.Dir, "stage-02-sum/iterations/001/context.json")["inputs"].(map[string]any)["from_parallel"].([]any) {
		s := source.(map[string]any)
		for name, p := range s["providers"].(map[string]any) {
			history, _ := p.(map[string]any)["history"].([]any)
			order = append(order, s["block"].(string)+" "+name+" "+string(rune('0'+len(history))))
		}
	}
	slices.Sort(order)
	testkit.Equal(t, []string{"rate left 0", "rate right 0", "write left 2", "write right 2"}, order)
	text, err := os.ReadFile(filepath.Join(result.Dir, "stage-02-sum/iterations/001/context.json"))
	if right, left := bytes.Index(text, []byte(`"right": {`)), bytes.Index(text, []byte(`"left": {`)); err != nil || right < 0 || left < right {
		t.Errorf("providers are not in the order given: right at %d, left at %d, %v", right, left, err)
	}
	if progress, err := os.ReadFile(filepath.Join(result.Dir, "parallel-00-write/providers/right/progress.md")); err != nil ||
		string(progress) != "# Progress: demo (right)\n\nProvider: right\n\n---\n\n" {
		t.Errorf("progress %q, %v", progress, err)
	}
	for _, absent := range []string{"stage-00-draft/progress.md", "stage-00-draft/output.md", "stage-00-draft/run-0.md"} {
		if _, err := os.Stat(filepath.Join(result.Dir, "parallel-00-write/providers/left", absent)); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s is there: %v", absent, err)
		}
	}
	if head := readJSON(t, result.Dir, "state.json"); len(head["history"].([]any)) != 1 || len(head["stages"].([]any)) != 3 {
		t.Errorf("history %v, stages %v", head["history"], head["stages"])
	}
}

// replaceText shortens texts in a JSON value.
func replaceText(v any, old, short string) any {
	b, _ := json.Marshal(v)
	var out any
	_ = json.Unmarshal([]byte(strings.ReplaceAll(string(b), old, short)), &out)
	return out
}

// U105, D17, D40: one provider fails, the other completes, and no manifest is written. A resume runs only the
// failed one, from its failure, and keeps its progress file.
func TestOneProviderFails(t *testing.T) {
	var made callLog
	broken := true
	e := twoAgentEngine(t, func(_ context.Context, provider string, req sdk.ExecuteRequest) error {
		made.add(req, provider)
		if broken && provider == "right" && req.Node == "review" {
			return failure.New(failure.ProviderMissing, "no CLI").WithHint("install it")
		}
		return os.WriteFile(req.Paths.Progress, []byte("kept"), 0o600)
	})
	result := testkit.Must(e.Run(t.Context(), engine.RunOptions{Plan: debatePlan()}))
	if f := result.Failure; result.Status != state.Failed || f == nil || f.ErrorType != "provider_missing" || f.Node != "write" || f.Remedy != "install it" ||
		f.Message != "Parallel block 'write' failed. Failed providers: right: no CLI" {
		t.Errorf("result %+v, failure %+v", result, result.Failure)
	}
	if _, err := os.Stat(filepath.Join(result.Dir, "parallel-00-write/manifest.json")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a manifest was written: %v", err)
	}
	failed := readJSON(t, result.Dir, "parallel-00-write/providers/right/state.json")
	if failed["status"] != "failed" || failed["error"] != "no CLI" || failed["error_type"] != "provider_missing" || failed["current_stage_name"] != "review" {
		t.Errorf("provider state %v", failed)
	}
	status, err := e.Status("demo")
	if err != nil || len(status.Providers) != 2 {
		t.Fatalf("status %+v, %v", status, err)
	}
	if l, r := status.Providers[0], status.Providers[1]; l.Status != "complete" || l.Failure != nil || r.Status != "failed" || r.Stage != "review" || r.Failure.Message != "no CLI" {
		t.Errorf("providers %+v", status.Providers)
	}
	broken = false
	made.drain()
	testkit.OK(t, os.Remove(filepath.Join(result.Dir, "parallel-00-write/providers/left/state.json")))
	if result, err = e.Resume(t.Context(), engine.ResumeOptions{Session: "demo"}); err != nil || !result.Success {
		t.Fatalf("resume: %+v, %v", result, err)
	}
	testkit.Equal(t, []string{"left rating m-left", "left sum m1", "right rating m-right", "right review own"}, made.drain())
	if again := readJSON(t, result.Dir, "parallel-00-write/providers/left/state.json"); again["status"] != "complete" {
		t.Errorf("provider state made again: %v", again)
	}
	if progress, err := os.ReadFile(filepath.Join(result.Dir, "parallel-00-write/providers/right/progress.md")); err != nil || string(progress) != "kept" {
		t.Errorf("progress %q, %v", progress, err)
	}
}

// U051: the text of a resume reaches every provider of a block, in any order of completion.
func TestResumeContextInABlock(t *testing.T) {
	const word = "mind the gap"
	var mu sync.Mutex
	received, broken := map[string]bool{}, true
	e := twoAgentEngine(t, func(_ context.Context, provider string, req sdk.ExecuteRequest) error {
		mu.Lock()
		defer mu.Unlock()
		if broken {
			return failure.New(failure.ProviderMissing, "no CLI")
		}
		received[provider+" "+req.Node] = strings.Contains(req.Prompt, word)
		return nil
	})
	testkit.Must(e.Run(t.Context(), engine.RunOptions{Plan: debatePlan()}))
	broken = false
	testkit.OK(t, completed(e.Resume(t.Context(), engine.ResumeOptions{Session: "demo", Context: word})))
	want := map[string]bool{
		"left draft": true, "left review": true, "right draft": true, "right review": true,
		"left rating": false, "right rating": false, "left sum": false,
	}
	testkit.Equal(t, want, received)
}

// An unknown provider of a block is refused before anything is written.
func TestUnknownProviderInABlock(t *testing.T) {
	e := twoAgentEngine(t, func(context.Context, string, sdk.ExecuteRequest) error { return nil })
	p := debatePlan()
	p.Nodes[1].Providers[0].Name = "middle"
	_, err := e.Run(t.Context(), engine.RunOptions{Plan: p})
	if failure.KindOf(err) != failure.ProviderMissing || !strings.Contains(err.Error(), "middle") {
		t.Errorf("run: %v", err)
	}
	wantError(t, testkit.Error(e.Status("demo")), engine.ErrNoSession)
}

// 4.4 of the Bash engine's record: the events of one provider, in order, with locations and data.
func TestEventsOfABlock(t *testing.T) {
	e := twoAgentEngine(t, func(context.Context, string, sdk.ExecuteRequest) error { return nil })
	p := debatePlan()
	p.Nodes = p.Nodes[:1]
	result, err := e.Run(t.Context(), engine.RunOptions{Plan: p})
	testkit.OK(t, err)
	var got []string
	err = e.Tail(t.Context(), "demo", -1, false, func(ev event.Event) error {
		if ev.Cursor != nil && ev.Cursor.Provider == "right" && ev.Type != event.Decision {
			b, _ := json.Marshal(ev.Cursor)
			got = append(got, string(ev.Type)+" "+string(b))
		}
		if ev.Type == event.WorkerComplete && !strings.HasPrefix(string(ev.Data), `{"result_file":"`+result.Dir+`/parallel-00-write/providers/`) {
			t.Errorf("worker_complete %s", ev.Data)
		}
		return nil
	})
	testkit.OK(t, err)
	at := func(i string) string {
		return ` {"node_path":"0","node_run":1,"iteration":` + i + `,"provider":"right"}`
	}
	want := []string{"parallel_provider_start" + at("0")}
	for _, i := range []string{"1", "2", "1"} {
		want = append(want, "iteration_start"+at(i), "worker_complete"+at(i), "iteration_complete"+at(i))
	}
	testkit.Equal(t, append(want, "parallel_provider_complete"+at("0")), got)
}

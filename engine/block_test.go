package engine_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/dodo-digital/agent-pipelines/engine"
	"github.com/dodo-digital/agent-pipelines/engine/internal/testkit"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/kernel/state"
	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
)

// namedAgent is an agent that a test names.
type namedAgent struct {
	agent
	name string
}

func (n namedAgent) Describe() sdk.Component {
	return sdk.Component{Kind: sdk.KindProvider, Name: n.name, Aliases: []string{n.name + "-alias"}, Provider: &sdk.ProviderTraits{DefaultModel: "m-" + n.name}}
}

// callLog records the calls of providers.
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

// debatePlan returns the plan of a pipeline in which two providers write drafts and rate them.
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

// readJSON reads a JSON file of a session. It replaces the session's directory by <S> and times by ~.
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

// U105, D17, D40: one provider fails, the second completes, and no manifest is written. A resume continues only the
// failed provider, at its failed stage, and keeps the provider's progress file.
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

// U051: the text of a resume reaches every provider of the block that is resumed, but no later node.
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

package statefile_test

import (
	"encoding/json"
	"errors"
	"io/fs"
	"testing"

	"github.com/dodo-digital/agent-pipelines/engine/internal/testkit"
	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/kernel/store"
)

// block returns a plan with a stage of one iteration and a block of two providers after it.
func block() *plan.Plan {
	p := twoStages()
	p.Nodes[0].Termination = plan.Termination{"type": "fixed", "max": 1}
	p.Nodes[1] = plan.Node{Path: "1", ID: "both", Kind: plan.KindParallel, Providers: []plan.BlockProvider{{Name: "a"}, {Name: "b"}}, Stages: []plan.Node{
		{Path: "1.0", ID: "one", Kind: plan.KindStage, Termination: plan.Termination{"type": "fixed", "max": 1}, Delay: p.Nodes[0].Delay},
		{Path: "1.1", ID: "two", Kind: plan.KindStage, Termination: plan.Termination{"type": "fixed", "max": 1}, Delay: p.Nodes[0].Delay},
	}}
	return p
}

// inBlock appends the events of a provider's iteration in a stage of the block.
func (s *story) inBlock(provider, stage string, code int) {
	s.t.Helper()
	place := event.Location{Node: stage, Visit: 1, Run: 1, Branch: provider, Iteration: 1}
	key := place.Key(event.KeyAttempt, 1)
	s.append(event.IterationStart, place, key, event.IterationStartData{})
	if code != 0 {
		s.append(event.Error, place, key, event.FailureData{ErrorType: "provider_crashed", Message: "gone", ExitCode: &code})
		return
	}
	s.append(event.IterationComplete, place, key, event.IterationCompleteData{})
	s.append(event.Decision, place, place.Key(event.KeyDecide, 1), event.DecisionData{Strategy: "fixed", Action: "stop"})
}

func readMap(t *testing.T, d *store.Dir, name string) map[string]any {
	t.Helper()
	b := testkit.Must(d.Read(name, 1<<20))
	var m map[string]any
	testkit.OK(t, json.Unmarshal(b, &m))
	return m
}

// BASH-BEHAVIOUR 4.3: the files show the states of the providers, from pending to the end. The session's counters do
// not count iterations in blocks.
func TestProviderState(t *testing.T) {
	s, d := begun(t, block())
	s.enter("0")
	s.iterate("0", 1)
	s.leave("0", "1")
	testkit.OK(t, d.Replace("parallel-01-both/manifest.json", []byte("of an earlier run")))
	s.enter("1")
	if _, err := d.Stat("parallel-01-both/manifest.json"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the manifest of an earlier run is still there: %v", err)
	}
	at := func(provider string) event.Location {
		return event.Location{Node: "1.0", Visit: 1, Run: 1, Branch: provider}
	}
	file := func(provider string) map[string]any {
		t.Helper()
		return readMap(t, d, "parallel-01-both/providers/"+provider+"/state.json")
	}
	want := map[string]any{
		"provider": "a", "session": "p2", "started_at": "2026-01-02T03:04:13Z", "status": "pending", "current_stage": 0.0,
		"iteration": 0.0, "iteration_completed": 0.0, "stages": []any{},
	}
	testkit.Equal(t, want, file("a"))
	s.append(event.ParallelProviderStart, at("a"), "", struct{}{})
	s.append(event.ParallelProviderStart, at("b"), "", struct{}{})
	s.inBlock("a", "1.0", 0)
	s.inBlock("b", "1.0", 7)
	s.append(event.ParallelProviderFailed, at("b"), "", event.ProviderCompleteData{Status: "failed"})
	want["provider"], want["started_at"], want["status"], want["iteration"] = "b", "2026-01-02T03:04:15Z", "failed", 1.0
	want["current_stage_name"], want["error"], want["error_type"] = "one", "Exit code 7", "provider_crashed"
	testkit.Equal(t, want, file("b"))
	s.inBlock("a", "1.1", 0)
	s.append(event.ParallelProviderComplete, at("a"), "", event.ProviderCompleteData{Status: "complete"})
	stage := func(name string) map[string]any {
		return map[string]any{"name": name, "iterations": 1.0, "termination_reason": "fixed"}
	}
	want = map[string]any{
		"provider": "a", "session": "p2", "started_at": "2026-01-02T03:04:14Z", "status": "complete", "current_stage": 0.0,
		"iteration": 0.0, "iteration_completed": 0.0, "stages": []any{stage("one"), stage("two")}, "current_stage_name": "two",
	}
	testkit.Equal(t, want, file("a"))
	if m := readMap(t, d, "state.json"); m["iteration"] != 1.0 || m["iteration_completed"] != 1.0 || len(m["history"].([]any)) != 1 || m["current_stage"] != 1.0 {
		t.Errorf("state.json: %v", m)
	}

	// A resume rewrites the files of all providers, finished ones too.
	s.append(event.NodeComplete, event.Location{Node: "1"}, "", event.NodeCompleteData{Name: "both", Status: "failed", Outcome: "error", To: plan.ToFailed})
	for _, provider := range []string{"a", "b"} {
		testkit.OK(t, d.Remove("parallel-01-both/providers/"+provider+"/state.json"))
	}
	s.append(event.SessionResumed, event.Location{}, "", event.SessionResumedData{})
	if a, b := file("a"), file("b"); a["status"] != "complete" || b["status"] != "running" || b["error"] != nil {
		t.Errorf("after a resume: %v, %v", a, b)
	}
}

// Files of a finished block are rewritten, too: a power loss may have removed them.
func TestProviderStateBehindTheBlock(t *testing.T) {
	_, d := testkit.Session(t, t.TempDir(), "p3")
	p := block()
	last := twoStages().Nodes[1]
	last.Path, last.ID = "2", "last"
	p.Nodes = append(p.Nodes, last)
	s := newStory(t, d, p)
	s.begin("pipeline")
	s.enter("0")
	s.iterate("0", 1)
	s.leave("0", "1")
	s.enter("1")
	for _, provider := range []string{"a", "b"} {
		at := event.Location{Node: "1.0", Visit: 1, Run: 1, Branch: provider}
		s.append(event.ParallelProviderStart, at, "", struct{}{})
		s.inBlock(provider, "1.0", 0)
		s.inBlock(provider, "1.1", 0)
		s.append(event.ParallelProviderComplete, at, "", event.ProviderCompleteData{Status: "complete"})
	}
	s.leave("1", "2")
	s.enter("2")
	s.append(event.SessionPaused, event.Location{}, "", event.SessionPausedData{Kind: "user"})
	for _, provider := range []string{"a", "b"} {
		testkit.OK(t, d.Replace("parallel-01-both/providers/"+provider+"/state.json"))
	}
	s.append(event.SessionResumed, event.Location{}, "", event.SessionResumedData{})
	for _, provider := range []string{"a", "b"} {
		if got := readMap(t, d, "parallel-01-both/providers/"+provider+"/state.json"); got["provider"] != provider || got["status"] != "complete" {
			t.Errorf("provider %s after a resume: %v", provider, got)
		}
	}
}

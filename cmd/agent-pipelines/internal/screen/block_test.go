package screen

import (
	"slices"
	"testing"
	"time"

	"github.com/dodo-digital/agent-pipelines/engine"
	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/kernel/state"
)

// blockStory is a session at a parallel block whose second provider has failed.
func blockStory() story {
	return story{
		plan: &plan.Plan{Nodes: []plan.Node{{
			Path: "0", ID: "dual", Kind: plan.KindParallel, Description: "both", Providers: []plan.BlockProvider{{Name: "claude"}, {Name: "codex", As: "calm"}},
			Stages: []plan.Node{{Path: "0.0", ID: "ideas", Kind: plan.KindStage, Termination: plan.Termination{"max": 2}}},
		}}},
		state: &state.State{Identity: state.Identity{Mode: "pipeline"}, Position: state.Position{At: "0", Nodes: map[string]state.Node{"0": {NodeLoops: state.NodeLoops{Branches: map[string]state.Branch{
			"claude": {Status: state.NodeComplete}, "calm": {Status: state.NodeFailed},
		}}}}}},
	}
}

// at returns an update for an event of a provider; iteration 0 means none.
func (s story) at(t event.Type, branch string, iteration int, data any) engine.Update {
	place := event.Location{Node: "0.0", Visit: 1, Run: 1, Branch: branch, Iteration: iteration}
	e := event.New(t, place.Cursor(), place.Key(event.KeyAttempt, 1), data)
	return engine.Update{Session: "demo", Event: &e, State: s.state, Plan: s.plan, Dir: "/runs/demo"}
}

// Lines about blocks have the wording of the Bash engine, and other lines name their provider. BASH-BEHAVIOUR 11.
func TestRendererInABlock(t *testing.T) {
	s := blockStory()
	whole := blockStory()
	whole.state.Nodes["0"] = state.Node{NodeProgress: state.NodeProgress{Status: state.NodeComplete}, Artifacts: map[string]event.Ref{"manifest": {Path: "parallel-00-dual/manifest.json"}}}
	broken := blockStory()
	n := broken.state.Nodes["0"]
	n.Status = state.NodeFailed
	broken.state.Nodes["0"] = n
	end := func(s story) engine.Update {
		u := s.newUpdate(event.NodeComplete, "0", 0, event.NodeCompleteData{Name: "dual", Reason: "Parallel block 'dual' failed"})
		u.Dir = "/runs/demo"
		return u
	}
	for _, tt := range []struct {
		name   string
		update engine.Update
		want   []string
	}{
		{"start of a provider", s.at(event.ParallelProviderStart, "claude", 0, struct{}{}), []string{"  Started claude"}},
		{"iteration", s.at(event.IterationStart, "calm", 1, struct{}{}), []string{"    calm: ideas, iteration 1/2..."}},
		{"summary", s.at(event.IterationComplete, "calm", 1, event.IterationCompleteData{Summary: "done"}), []string{"    calm: done"}},
		{"error", s.at(event.Error, "calm", 1, event.FailureData{ErrorType: "provider_failed", Message: "no"}), []string{"  ✗ calm: provider_failed: no"}},
		{"retry", s.at(event.Retry, "calm", 1, event.RetryData{N: 2, Max: 2}), []string{"  ↻ calm: attempt 2 of 2"}},
		{"backoff", s.at(event.TimerSet, "calm", 1, event.TimerSetData{Purpose: "backoff", After: time.Second}), []string{"  calm: Trying again in 1s..."}},
		{"delay", s.at(event.TimerSet, "calm", 1, event.TimerSetData{Purpose: "delay", After: time.Second}), []string{"    calm: Waiting 1 seconds..."}},
		{"judge", s.at(event.JudgeStart, "calm", 1, event.JudgeStartData{Provider: "mock"}), []string{"    calm: Asking the judge (mock)..."}},
		{"end of a provider", s.at(event.ParallelProviderComplete, "claude", 0, event.ProviderCompleteData{Status: "complete"}), []string{"  ✓ claude complete"}},
		{"failure of a provider", s.at(event.ParallelProviderFailed, "calm", 0, event.ProviderCompleteData{Status: "failed"}), []string{"  ✗ calm failed"}},
		{"end", end(whole), []string{"", "  Parallel block complete. Manifest written to /runs/demo/parallel-00-dual/manifest.json", ""}},
		{"failure", end(broken), []string{"", "  Parallel block failed. Failed providers: calm", ""}},
		{"resumed", s.newUpdate(event.SessionResumed, "", 0, struct{}{}), []string{"Resuming session 'demo' from stage dual: calm", "  ✓ claude complete"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			n := Renderer{}
			compare(t, tt.want, n.Lines(tt.update))
		})
	}
	n2 := Renderer{}
	head := n2.Lines(s.newUpdate(event.NodeStart, "0", 0, struct{}{}))
	compare(t, []string{"│ Parallel Block: dual", "│ both", "│ Providers: claude calm", "│ Stages: ideas"}, head[1:5])
}

// The texts of agents that work in parallel are not mixed within a line.
func TestEchoOfTwoProviders(t *testing.T) {
	n, s := Renderer{Verbose: true}, blockStory()
	say := func(branch, text string) []string {
		return n.Lines(engine.Update{Report: &engine.Report{Branch: branch, Text: text}})
	}
	got := slices.Concat(say("claude", "I th"), say("calm", "Well\nno"), say("claude", "ink\n"),
		n.Lines(s.at(event.IterationComplete, "claude", 1, event.IterationCompleteData{})),
		n.Lines(s.at(event.IterationComplete, "calm", 1, event.IterationCompleteData{})))
	compare(t, []string{"    calm │ Well", "    claude │ I think", "    calm │ no"}, got)
}

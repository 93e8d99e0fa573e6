package termination

import (
	"path/filepath"
	"strings"
	"testing"

	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"

	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/kernel/state"
)

// D16: in a parallel block a strategy is asked about its provider's loop and no other's, and so is the
// provider that answers for it.
func TestAskInABlock(t *testing.T) {
	var got sdk.DecideRequest
	b := newBench(t, func(req sdk.DecideRequest) (sdk.Decision, error) {
		got = req
		return sdk.Decision{Action: sdk.DecisionAsk, Question: &sdk.Question{Prompt: "flat?"}}, nil
	})
	stage := *b.job.Node
	stage.Path = "0.0"
	b.asker.Plan.Nodes[0] = plan.Node{Path: "0", ID: "both", Kind: plan.KindParallel, Providers: []plan.BlockProvider{{Name: "claude"}, {Name: "codex"}}, Stages: []plan.Node{stage}}
	mine := b.job.State.Nodes["0"].Loop
	b.job.State.Nodes["0"] = state.Node{NodeProgress: state.NodeProgress{Visit: 1, Run: 1}, NodeLoops: state.NodeLoops{Branches: map[string]state.Branch{
		"claude": {Loop: mine}, "codex": {Loop: state.Loop{Progress: state.Progress{Completed: 4}, LastIteration: state.LastIteration{Hint: "stop"}}},
	}}}
	at := event.Location{Node: "0.0", Visit: 1, Run: 1, Branch: "claude", Iteration: 1}
	b.job.Node, b.job.Command.Location, b.job.Command.Key = &stage, at, at.Key(event.KeyDecide, 1)
	d := b.ask(t)
	scope := filepath.Join(b.asker.Dir.Path(), "parallel-00-both/providers/claude")
	if got.Iteration != 1 || got.Hint != "continue" || got.Progress.Path != filepath.Join(scope, "progress.md") {
		t.Errorf("request %+v", got)
	}
	if d.Question == nil || !strings.HasPrefix(d.Question.Prompt.Path, "parallel-00-both/providers/claude/stage-00-polish/iterations/001/") {
		t.Fatalf("decision %+v", d)
	}
	branch := b.job.State.Nodes["0"].Branches["claude"]
	branch.Loop.Question = d.Question
	b.job.State.Nodes["0"].Branches["claude"] = branch
	e := b.asker.Put(t.Context(), b.job, answers{got: &sdk.ExecuteRequest{}})
	answer, err := event.Decode[event.StrategyAnswerData](e)
	if err != nil || answer.Error != "" || answer.Answer == nil || !strings.HasPrefix(answer.Answer.Path, "parallel-00-both/providers/claude/") {
		t.Errorf("answer %+v, %v", answer, err)
	}
}

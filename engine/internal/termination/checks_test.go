package termination

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"github.com/dodo-digital/agent-pipelines/engine/internal/testkit"
	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/kernel/state"
	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
)

// U085: the checks after the iteration decide, whatever the agent says.
func TestChecks(t *testing.T) {
	for _, tt := range []struct {
		name   string
		checks []string
		want   sdk.Decision
	}{
		{"all passed", []string{`{"id":"a","at":"exit","passed":true}`, `{"id":"b","at":"exit","passed":true}`}, sdk.Decision{Action: sdk.DecisionStop, Reason: "checks passed"}},
		{"some did not", []string{`{"id":"a","at":"exit","passed":true}`, `{"id":"b","at":"exit","passed":false}`, `{"id":"c","at":"exit","error":"no program"}`}, sdk.Decision{Action: sdk.DecisionContinue, Reason: "did not pass: b, c"}},
		{"those at the entry do not count", []string{`{"id":"a","at":"enter","passed":false}`, `{"id":"b","at":"exit","passed":true}`}, sdk.Decision{Action: sdk.DecisionStop, Reason: "checks passed"}},
		{"one is left out", []string{`{"id":"a","at":"exit","passed":true,"left_out":true}`, `{"id":"b","at":"exit","passed":false}`}, sdk.Decision{Action: sdk.DecisionContinue, Reason: "did not pass: b"}},
		{"all are left out", []string{`{"id":"a","at":"exit","passed":true,"left_out":true}`}, sdk.Decision{Action: sdk.DecisionError, Reason: "no check was made after the iteration"}},
		{"none", []string{`{"id":"a","at":"enter","passed":true}`}, sdk.Decision{Action: sdk.DecisionError, Reason: "no check was made after the iteration"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			req := sdk.DecideRequest{Hint: "stop", Iteration: 9, Max: 3}
			for _, c := range tt.checks {
				req.Checks = append(req.Checks, json.RawMessage(c))
			}
			got := testkit.Must(Checks{}.Decide(t.Context(), req))
			testkit.Equal(t, tt.want, got)
		})
	}
	if _, err := (Checks{}).Decide(t.Context(), sdk.DecideRequest{Checks: []json.RawMessage{json.RawMessage("[")}}); err == nil {
		t.Error("a broken check was accepted")
	}
}

// Every strategy receives the check results. After a stage retry, only the iterations and outputs since then are in its
// request.
func TestAskAfterAStageRetry(t *testing.T) {
	var got sdk.DecideRequest
	b := newBench(t, func(req sdk.DecideRequest) (sdk.Decision, error) {
		got = req
		return sdk.Decision{Action: sdk.DecisionContinue}, nil
	})
	ref := testkit.Must(b.asker.Dir.Write("stage-00-polish/iterations/003/checks/tests.json", []byte(`{"counts":{"failed":1}}`+"\n")))
	last := testkit.Must(b.asker.Dir.Write("stage-00-polish/iterations/003/output.md", []byte("third")))
	b.loop(func(l *state.Loop) {
		l.Iteration, l.Completed, l.Before = 3, 3, 2
		l.Measured = []state.Measurement{
			{ID: "before", At: "enter", Passed: true}, {ID: "tests", At: "exit", Reason: "1 failed", Facts: &ref}, {ID: "lint", At: "exit", Failure: &event.FailureData{Message: "no linter"}},
		}
	})
	b.ask(t)
	if got.Iteration != 1 {
		t.Errorf("iteration %d", got.Iteration)
	}
	testkit.Equal(t, []sdk.FileRef{{Path: b.asker.Dir.Abs(last.Path)}}, got.Outputs)
	var checks []string
	for _, c := range got.Checks {
		checks = append(checks, string(c))
	}
	want := []string{
		`{"id":"before","at":"enter","passed":true}`, `{"id":"tests","at":"exit","passed":false,"reason":"1 failed","facts":{"counts":{"failed":1}}}`,
		`{"id":"lint","at":"exit","passed":false,"error":"no linter"}`,
	}
	testkit.Equal(t, want, checks)
}

// U085, K17: the number of iterations decides, unless the agent explicitly asks to stop.
func TestFixed(t *testing.T) {
	stop := func(reason string) sdk.Decision { return sdk.Decision{Action: sdk.DecisionStop, Reason: reason} }
	tests := []struct {
		name string
		req  sdk.DecideRequest
		want sdk.Decision
	}{
		{"before the maximum", sdk.DecideRequest{Iteration: 1, Max: 3}, sdk.Decision{Action: sdk.DecisionContinue}},
		{"at the maximum", sdk.DecideRequest{Iteration: 3, Max: 3}, stop("Completed 3 iterations (max: 3)")},
		{"the agent says stop", sdk.DecideRequest{Iteration: 1, Max: 3, Hint: "stop"}, stop("Agent requested stop at iteration 1")},
		{"the agent says continue", sdk.DecideRequest{Iteration: 3, Max: 3, Hint: "continue"}, stop("Completed 3 iterations (max: 3)")},
		{"early_stop: false", sdk.DecideRequest{Iteration: 1, Max: 3, Hint: "stop", Config: []byte(`{"type":"fixed","early_stop":false}`)}, sdk.Decision{Action: sdk.DecisionContinue}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := testkit.Must(Fixed{}.Decide(t.Context(), tt.req))
			testkit.Equal(t, tt.want, got)
		})
	}
	if _, err := (Fixed{}).Decide(t.Context(), sdk.DecideRequest{Config: []byte("[")}); err == nil {
		t.Error("a broken config was accepted")
	}
}

// D16: in a parallel block a strategy is asked only about its provider's loop, and the answer is stored in that
// provider's directory.
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

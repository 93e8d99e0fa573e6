package enginetest_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/dodo-digital/agent-pipelines/engine"
	"github.com/dodo-digital/agent-pipelines/engine/enginetest"
	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/kernel/state"
	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
)

const ship = `name: ship
policy: {retry: {attempts: 2, backoff: [0]}}
nodes:
  - {id: plan, stage: think}
  - {id: build, runs: 3, prompt: "build ${CONTEXT}", delay: 600}
`

// shipFiles returns the files of a project with the pipeline ship and the stage think.
func shipFiles(more map[string]string) map[string]string {
	all := map[string]string{
		".claude/pipelines/ship.yaml":     ship,
		".claude/stages/think/stage.yaml": "name: think\n",
		".claude/stages/think/prompt.md":  "think about ${CONTEXT}",
	}
	for name, text := range more {
		all[name] = text
	}
	return all
}

// U278: a pipeline runs unchanged, but without delays. Its agents follow the fixtures, and all assertions hold.
func TestSession(t *testing.T) {
	tokens := int64(7)
	s := enginetest.NewMockSession(t, enginetest.Fixtures{
		Files: shipFiles(nil),
		Run:   engine.RunOptions{Pipeline: "ship", Context: "the flag"},
		Replies: []enginetest.Reply{
			{Node: "build", Iteration: 2, Decision: "stop", Reason: "nothing is left", Summary: "built it", Output: "said", Usage: &sdk.Usage{InputTokens: &tokens}},
			{Stage: "think", Delay: time.Millisecond, Result: `{"summary": "thought"}`},
		},
	})
	result := s.Run()
	if !result.Success || result.Usage.InputTokens == nil || *result.Usage.InputTokens != 7 {
		t.Errorf("result %+v", result)
	}
	enginetest.AssertStateStatus(t, s, state.Completed)
	enginetest.AssertIterationCount(t, s, 3)
	enginetest.AssertEventSequence(t, s,
		event.SessionStart, event.KernelStart,
		event.NodeStart, event.IterationStart, event.IterationComplete, event.Decision, event.NodeComplete,
		event.NodeStart, event.IterationStart, event.IterationComplete, event.Decision, event.IterationStart, event.IterationComplete, event.Decision, event.NodeComplete,
		event.SessionComplete)
	enginetest.AssertEventSubsequence(t, s, event.SessionStart, event.StageTransition, event.StageTransition, event.SessionComplete)
	var prompts []string
	for _, r := range s.Requests() {
		prompts = append(prompts, r.Prompt)
	}
	if diff := cmp.Diff([]string{"think about the flag", "build the flag", "build the flag"}, prompts); diff != "" {
		t.Error(diff)
	}
	if out, err := os.ReadFile(s.Status().Stages[1].Output); err != nil || string(out) != "said\n" {
		t.Errorf("output %q, %v", out, err)
	}
	if got := s.Status().Stages[1].Reason; got != "Agent requested stop at iteration 2" {
		t.Errorf("reason of build: %s", got)
	}
}

// Replies select failures by attempt and by resume.
func TestFailAndResume(t *testing.T) {
	s := enginetest.NewMockSession(t, enginetest.Fixtures{
		Files: shipFiles(nil),
		Run:   engine.RunOptions{Pipeline: "ship", Session: "mine"},
		Replies: []enginetest.Reply{
			{Node: "plan", Attempt: 1, Failure: failure.New(failure.ProviderCrashed, "try again")},
			{Node: "build", Iteration: 2, Epoch: 1, Failure: failure.New(failure.ProviderMissing, "not installed")},
			{Node: "build", Iteration: 3, Work: func(_ context.Context, req sdk.ExecuteRequest) error {
				return os.WriteFile(filepath.Join(req.WorkDir, "made"), []byte(req.Prompt), 0o644)
			}},
		},
	})
	if r := s.Run(); r.Status != state.Failed || r.Failure.ErrorType != "provider_missing" || r.Session != "mine" {
		t.Errorf("run: %+v", r)
	}
	enginetest.AssertStateStatus(t, s, state.Failed)
	enginetest.AssertIterationCount(t, s, 2)
	enginetest.AssertEventSubsequence(t, s, event.Error, event.Retry, event.IterationComplete, event.Error)
	if r := s.Resume("carefully"); !r.Success {
		t.Errorf("resume: %+v", r)
	}
	enginetest.AssertIterationCount(t, s, 4)
	if made, err := os.ReadFile(filepath.Join(s.Project, "made")); err != nil || !strings.Contains(string(made), "build") {
		t.Errorf("made %q, %v", made, err)
	}
	var resumed bool
	for _, e := range s.Events() {
		resumed = resumed || e.Type == event.SessionResumed
	}
	if !resumed {
		t.Error("there is no event of the resume")
	}
	s.Options.Force = true
	s.Options.Pipeline, s.Options.Stage, s.Options.Max = "", "think", 1
	if r := s.Run(); !r.Success {
		t.Errorf("started again: %+v", r)
	}
	enginetest.AssertIterationCount(t, s, 1) // of the latest run
}

// taste is a termination strategy that follows the agent's decision.
type taste struct{}

func (taste) Describe() sdk.Component { return sdk.Component{Name: "taste"} }

func (taste) Decide(_ context.Context, req sdk.DecideRequest) (sdk.Decision, error) {
	actions := map[string]sdk.DecisionAction{"continue": sdk.DecisionContinue, "stop": sdk.DecisionStop, "error": sdk.DecisionError}
	return sdk.Decision{Action: actions[req.Hint], Reason: "the agent said " + req.Hint}, nil
}

// Providers of a block have their own replies; a test can add a strategy and compile the plan.
func TestProvidersAndStrategies(t *testing.T) {
	s := enginetest.NewMockSession(t, enginetest.Fixtures{
		Files: map[string]string{"p.yaml": `name: p
nodes:
  - {id: sides, parallel: {providers: [left, right], stages: [{id: draw, prompt: go, termination: {type: taste, max: 9}}]}}
  - {id: alone, prompt: go, termination: {type: taste, max: 9}}
`},
		Run:       engine.RunOptions{Pipeline: "p.yaml"},
		Providers: []string{"left", "right"},
		Options:   []engine.Option{engine.WithTermination(taste{})},
		Replies: []enginetest.Reply{
			{Provider: "left", Node: "draw", Iteration: 2, Decision: "stop"},
			{Provider: "right", Iteration: 3, Decision: "stop"},
			{Node: "alone", Decision: "error", Reason: "it does not work"},
		},
	})
	if r := s.Run(); r.Status != state.Failed {
		t.Errorf("result %+v", r)
	}
	enginetest.AssertIterationCount(t, s, 2+3+1)
	if p, err := s.Engine.Compile(t.Context(), s.Options); err != nil || p.Nodes[1].Provider.Type != "left" || p.Nodes[0].Kind != plan.KindParallel {
		t.Errorf("plan %+v, %v", p, err)
	}
}

// Replies can leave no result or an invalid one, or fail; each has its own type of error.
func TestResults(t *testing.T) {
	for want, r := range map[string]enginetest.Reply{
		"result_invalid":  {Result: "{"},
		"result_missing":  {NoResult: true},
		"provider_failed": {Work: func(context.Context, sdk.ExecuteRequest) error { return errors.New("no") }},
		"agent_error":     {Decision: "error", Reason: "it does not work"},
	} {
		t.Run(want, func(t *testing.T) {
			s := enginetest.NewMockSession(t, enginetest.Fixtures{
				Run:     engine.RunOptions{Text: "{name: p, policy: {retry: {attempts: 1}}, nodes: [{id: a, prompt: go}]}"},
				Replies: []enginetest.Reply{r},
			})
			if got := s.Run(); got.Status != state.Failed || got.Failure.ErrorType != want {
				t.Errorf("result %+v, failure %+v", got, got.Failure)
			}
		})
	}
}

// A test can cancel a session while an agent works.
func TestCancel(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	s := enginetest.NewMockSession(t, enginetest.Fixtures{
		Files: shipFiles(nil), Run: engine.RunOptions{Pipeline: "ship"},
		Replies: []enginetest.Reply{{Node: "plan", Epoch: 1, Delay: time.Hour}},
	})
	updates := s.Engine.Subscribe(100)
	go func() { // ends with the subscription
		for u := range updates.Updates {
			if u.Event != nil && u.Event.Type == event.IterationStart {
				cancel()
			}
		}
	}()
	r, err := s.Engine.Run(ctx, s.Options)
	updates.Close()
	if err != nil || r.PauseKind != state.PauseSignal {
		t.Errorf("result %+v, %v", r, err)
	}
	enginetest.AssertStateStatus(t, s, state.Paused)
	if r := s.Resume(""); !r.Success {
		t.Errorf("resume: %+v", r)
	}
}

// A project is copied without .git and the files of sessions; Files take precedence over its files.
func TestProject(t *testing.T) {
	from := fstest.MapFS{
		".claude/pipelines/ship.yaml":                 {Data: []byte("not this one")},
		".claude/pipeline-runs/test/events.jsonl":     {Data: []byte("{}")},
		".claude/locks/test.lock":                     {Data: []byte("{}")},
		".git/HEAD":                                   {Data: []byte("ref")},
		"check.sh":                                    {Data: []byte("#!/bin/sh\n"), Mode: 0o755},
		"docs/.git/kept":                              {Data: []byte("kept")},
		"docs/.claude/pipeline-runs/test/events.json": {Data: []byte("kept")},
	}
	s := enginetest.NewMockSession(t, enginetest.Fixtures{Project: from, Files: shipFiles(nil), Run: engine.RunOptions{Pipeline: "ship"}})
	for name, want := range map[string]bool{
		"check.sh": true, "docs/.git/kept": true, "docs/.claude/pipeline-runs/test/events.json": true,
		".git": false, ".claude/pipeline-runs": false, ".claude/locks": false,
	} {
		if _, err := os.Stat(filepath.Join(s.Project, name)); (err == nil) != want {
			t.Errorf("%s: %v", name, err)
		}
	}
	if info, err := os.Stat(filepath.Join(s.Project, "check.sh")); err != nil || info.Mode()&0o111 == 0 {
		t.Errorf("check.sh: %v, %v", info, err)
	}
	if r := s.Run(); !r.Success {
		t.Errorf("result %+v", r)
	}
}

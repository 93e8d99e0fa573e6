package enginetest_test

import (
	"strings"
	"testing"

	"github.com/dodo-digital/agent-pipelines/engine"
	"github.com/dodo-digital/agent-pipelines/engine/enginetest"
	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/state"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
)

// The pipeline stops building when the agent says so, and resumes after an agent has failed.
func TestShipPipeline(t *testing.T) {
	s := enginetest.NewMockSession(t, enginetest.Fixtures{
		Files: map[string]string{".claude/pipelines/ship.yaml": `
name: ship
nodes:
  - {id: plan, provider: claude, prompt: "plan ${CONTEXT}"}
  - {id: build, provider: claude, prompt: build, runs: 5, inputs: {from: plan}}
`},
		Run:       engine.RunOptions{Pipeline: "ship", Context: "the flag"},
		Providers: []string{"claude"},
		Replies: []enginetest.Reply{
			{Node: "build", Iteration: 2, Epoch: 1, Failure: failure.New(failure.AgentError, "it does not compile")},
			{Node: "build", Iteration: 3, Decision: "stop", Reason: "nothing is left"},
		},
	})
	s.Run()
	enginetest.AssertStateStatus(t, s, state.Failed)
	s.Resume("mind the types")
	enginetest.AssertStateStatus(t, s, state.Completed)
	enginetest.AssertIterationCount(t, s, 4)
	enginetest.AssertEventSubsequence(t, s, event.Error, event.SessionResumed, event.IterationComplete, event.SessionComplete)
	if prompt := s.Requests()[0].Prompt; prompt != "plan the flag" {
		t.Errorf("the plan was asked for by %q", prompt)
	}
}

// Planned steps are executed and checked. After a failed test they are repeated, with the test's name in the prompts.
func TestCycle(t *testing.T) {
	s := enginetest.NewMockSession(t, enginetest.Fixtures{
		Files: map[string]string{".claude/pipelines/cycle.yaml": `
name: cycle
policy: {retry: {backoff: [0]}}
nodes:
  - {id: plan, prompt: plan, artifact: {type: task_plan}, transitions: {success: execute}}
  - {id: execute, prompt: "make ${STEP}", steps: {from: plan, path: "steps[*]", depends_on: needs}, transitions: {success: verify}}
  - id: verify
    prompt: verify
    checks: [{id: tests, type: tests, run: make test, expect: all_pass}]
    transitions: {success: done, fail: {to: execute, limit: 3}}
`},
		Run: engine.RunOptions{Pipeline: "cycle"},
		Replies: []enginetest.Reply{
			{Node: "plan", Artifact: "steps: [{id: draw, needs: [measure]}, {id: measure}]"},
		},
		Checks: []enginetest.Check{
			{Node: "verify", Visit: 1, Reason: "1 of 9 tests failed", Failed: []string{"TestLegs"}},
		},
	})
	s.Run()
	enginetest.AssertStateStatus(t, s, state.Completed)
	enginetest.AssertPath(t, s, "plan", "execute", "verify:fail", "execute", "verify:success")
	for _, req := range s.Requests() {
		if req.Node == "execute" && req.Visit == 2 && !strings.Contains(req.Prompt, "TestLegs") {
			t.Errorf("step %s does not know what failed:\n%s", enginetest.StepID(req), req.Prompt)
		}
	}
}

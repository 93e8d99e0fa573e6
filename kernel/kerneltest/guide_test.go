package kerneltest_test

import (
	"testing"

	"github.com/dodo-digital/agent-pipelines/kernel"
	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/kerneltest"
	"github.com/dodo-digital/agent-pipelines/kernel/state"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
)

// The pipeline stops building when the agent says so, and goes on where an agent failed.
func TestShip(t *testing.T) {
	s := kerneltest.NewMockSession(t, kerneltest.Fixtures{
		Files: map[string]string{".claude/pipelines/ship.yaml": `
name: ship
nodes:
  - {id: plan, provider: claude, prompt: "plan ${CONTEXT}"}
  - {id: build, provider: claude, prompt: build, runs: 5, inputs: {from: plan}}
`},
		Run:       kernel.RunOptions{Pipeline: "ship", Context: "the flag"},
		Providers: []string{"claude"},
		Replies: []kerneltest.Reply{
			{Node: "build", Iteration: 2, Epoch: 1, Failure: failure.New(failure.AgentError, "it does not compile")},
			{Node: "build", Iteration: 3, Decision: "stop", Reason: "nothing is left"},
		},
	})
	s.Run()
	kerneltest.AssertStateStatus(t, s, state.Failed)
	s.Resume("mind the types")
	kerneltest.AssertStateStatus(t, s, state.Completed)
	kerneltest.AssertIterationCount(t, s, 4)
	kerneltest.AssertEventSubsequence(t, s, event.Error, event.SessionResumed, event.IterationComplete, event.SessionComplete)
	if prompt := s.Requests()[0].Prompt; prompt != "plan the flag" {
		t.Errorf("the plan was asked for by %q", prompt)
	}
}

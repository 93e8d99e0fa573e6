package screen

import (
	"github.com/dodo-digital/agent-pipelines/engine"
	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/kernel/state"
)

// story makes the updates of a session for tests.
type story struct {
	plan  *plan.Plan
	state *state.State
}

func pipelineStory() story {
	zero := 0.0
	return story{
		plan: &plan.Plan{
			Pipeline: plan.Pipeline{Name: "two"},
			Nodes: []plan.Node{
				{
					Path: "0", ID: "plan", Ref: "plan", Description: "Think first", Kind: plan.KindStage, Delay: &zero,
					Provider: &plan.Provider{Type: "mock"}, Termination: plan.Termination{"type": "fixed", "max": 2},
				},
				{
					Path: "1", ID: "work", Kind: plan.KindStage,
					Provider: &plan.Provider{Type: "claude", Model: "opus"}, Termination: plan.Termination{"type": "judgment", "max": 0},
				},
			},
		},
		state: &state.State{Identity: state.Identity{Mode: "pipeline"}, Position: state.Position{At: "0", Nodes: map[string]state.Node{
			"0": {NodeLoops: state.NodeLoops{Loop: state.Loop{Progress: state.Progress{Completed: 2}}}}, "1": {NodeLoops: state.NodeLoops{Loop: state.Loop{Progress: state.Progress{Completed: 3}}}},
		}}},
	}
}

func loopStory() story {
	s := pipelineStory()
	s.plan.Nodes = s.plan.Nodes[:1]
	s.state.Mode = "loop"
	return s
}

// newUpdate returns an update for an event in an iteration of a node; "" means no node.
func (s story) newUpdate(t event.Type, node string, iteration int, data any) engine.Update {
	var cursor *event.Cursor
	if node != "" {
		cursor = &event.Cursor{NodePath: node, NodeRun: iteration, Iteration: iteration}
	}
	e := event.New(t, cursor, "", data)
	return engine.Update{Session: "demo", Event: &e, State: s.state, Plan: s.plan}
}

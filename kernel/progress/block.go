package progress

import (
	"fmt"
	"math"
	"slices"

	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/kernel/state"
)

// runningBlock returns the block that the run is at, with its state.
func runningBlock(p *plan.Plan, s *state.State, e event.Event) (*plan.Node, state.Node, error) {
	n, ns, err := runningNode(p, s, e)
	if err == nil && n.Kind != plan.KindParallel {
		err = invalidTransition(e, "the node is not a parallel block")
	}
	return n, ns, err
}

func applyBranchStart(p *plan.Plan, s *state.State, e event.Event) error {
	n, ns, err := runningBlock(p, s, e)
	if err != nil {
		return err
	}
	id := e.Cursor.Provider
	if _, begun := ns.Branches[id]; begun || n.Branch(id) == nil {
		return invalidTransition(e, fmt.Sprintf("the block does not wait for provider %q", id))
	}
	put(&ns.Branches, id, state.Branch{Status: state.NodeRunning, StartedAt: e.Time, Loop: newStageLoop(n, 0)})
	s.Nodes[s.At] = ns
	return nil
}

func applyBranchComplete(p *plan.Plan, s *state.State, e event.Event, d event.ProviderCompleteData) error {
	n, ns, err := runningBlock(p, s, e)
	if err != nil {
		return err
	}
	b, begun := ns.Branches[e.Cursor.Provider]
	if !begun || b.Status != state.NodeRunning || b.Loop.Phase != state.PhaseSettled {
		return invalidTransition(e, fmt.Sprintf("provider %q has not ended", e.Cursor.Provider))
	}
	b.Status = state.NodeStatus(d.Status)
	ns.Branches[e.Cursor.Provider] = b
	if d.Status == string(state.NodeComplete) { // texts left over after the last iteration
		s.NextInjected = append(s.NextInjected, b.Loop.Injected...)
	}
	if allComplete(n, ns) { // every provider has received the user's context
		s.ConsumeContext(minConsumed(ns))
	}
	return nil
}

func allComplete(n *plan.Node, ns state.Node) bool {
	return !slices.ContainsFunc(n.Providers, func(b plan.BlockProvider) bool { return ns.Branches[b.ID()].Status != state.NodeComplete })
}

// minConsumed returns the number of context bytes that every provider of the block has received.
func minConsumed(ns state.Node) int {
	least := math.MaxInt
	for _, b := range ns.Branches {
		least = min(least, b.Loop.ContextConsumed)
	}
	return least
}

// newStageLoop returns the initial loop of a block's stage. It accepts a missing stage; running the stage
// reports the fault.
func newStageLoop(n *plan.Node, i int) state.Loop {
	if i < len(n.Stages) {
		return newLoop(&n.Stages[i])
	}
	return state.Loop{Progress: state.Progress{Phase: state.PhaseReady}}
}

// nextBranchStage moves a provider that has finished a stage to the next stage of the block.
func nextBranchStage(n *plan.Node, ns *state.Node, id string) {
	b := ns.Branches[id]
	if b.Loop.Phase != state.PhaseSettled || b.Loop.Outcome != string(plan.OutcomeSuccess) {
		return
	}
	b.Done = append(b.Done, state.BranchStage{Iterations: b.Loop.Completed, Reason: b.Loop.Reason})
	if b.Stage+1 < len(n.Stages) {
		injected, consumed := b.Loop.Injected, b.Loop.ContextConsumed
		b.Stage, b.Loop = b.Stage+1, newStageLoop(n, b.Stage+1)
		b.Loop.Injected, b.Loop.ContextConsumed = injected, consumed
	}
	ns.Branches[id] = b
}

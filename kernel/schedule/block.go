package schedule

import (
	"encoding/json"
	"fmt"

	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/kernel/progress"
	"github.com/dodo-digital/agent-pipelines/kernel/state"
)

// decideBlock advances every provider independently. When all have ended, the block ends; if all have succeeded, its
// manifest is written first. A provider that waits for the user pauses the run once all others have ended or wait.
func (v visit) decideBlock() []Command {
	n, ns := v.node, v.nodeState
	var cmds, waits []Command
	ended := 0
	for i := range n.Providers {
		id := n.Providers[i].ID()
		switch b, begun := ns.Branches[id]; {
		case !begun:
			cmds = append(cmds, record(branchStartEvent(n, id))...)
		case b.Status != state.NodeRunning:
			ended++
		default:
			due := v.decideBranch(id, b)
			if isResting(due) {
				waits = append(waits, due...)
				continue
			}
			cmds = append(cmds, due...)
		}
	}
	switch {
	case ended == len(n.Providers):
		return v.endBlock()
	case ended+len(waits) == len(n.Providers):
		return decideRest(v.plan, v.state, waits)
	default:
		return cmds
	}
}

// endBlock completes a block whose providers have all ended. If none has failed, it writes the manifest first.
func (v visit) endBlock() []Command {
	if _, written := v.nodeState.Artifacts[event.Manifest]; written || progress.FailedBranches(v.node, v.nodeState) != nil {
		return v.complete()
	}
	loc := v.nodeState.IterationLocation(v.node.Path)
	return []Command{{Kind: WriteManifest, Key: loc.Key(event.KeyManifest, 1), Location: loc}}
}

// decideBranch continues the loop of the provider's current stage, or ends the provider's work.
func (v visit) decideBranch(id string, b state.Branch) []Command {
	loc := v.nodeState.BranchLocation(v.node.Path, id)
	if cmds, passed := v.decideProviderHooks(loc, b); !passed {
		return cmds
	}
	if b.Loop.Phase == state.PhaseSettled {
		return record(branchCompleteEvent(v.node, id, b))
	}
	stage := progress.StageAt(v.plan, v.state, loc)
	if stage == nil {
		return record(planMismatchEvent(v.state))
	}
	return stageLoop{v.plan, v.state, stage, loc, b.Loop}.decide()
}

func blockStartEvent(n *plan.Node) event.Event {
	providers, err := json.Marshal(n.Providers)
	if err != nil { // the values were read from JSON
		panic(fmt.Sprintf("block %s: %v", n.ID, err))
	}
	return event.New(event.NodeStart, &event.Cursor{NodePath: n.Path}, "",
		event.BlockStartData{Name: n.ID, Kind: string(n.Kind), Providers: providers, Stages: stageIDs(n)})
}

func stageIDs(n *plan.Node) []string {
	ids := make([]string, len(n.Stages))
	for i := range n.Stages {
		ids[i] = n.Stages[i].ID
	}
	return ids
}

// branchCursor returns the cursor of a provider as a whole.
func branchCursor(n *plan.Node, id string) *event.Cursor {
	return &event.Cursor{NodePath: n.Path, NodeRun: 1, Provider: id}
}

func branchStartEvent(n *plan.Node, id string) event.Event {
	return event.New(event.ParallelProviderStart, branchCursor(n, id), "", event.ProviderStartData{Provider: id, Stages: stageIDs(n)})
}

func branchCompleteEvent(n *plan.Node, id string, b state.Branch) event.Event {
	d, kind := event.ProviderCompleteData{Provider: id, Status: string(state.NodeComplete)}, event.ParallelProviderComplete
	if b.Loop.Outcome != string(plan.OutcomeSuccess) {
		d.Status, d.Failure, kind = string(state.NodeFailed), b.Loop.Failure, event.ParallelProviderFailed
	}
	return event.New(kind, branchCursor(n, id), "", d)
}

// decideProviderHooks returns the commands for the hooks before or after the work of a provider in a block.
func (v visit) decideProviderHooks(loc event.Location, b state.Branch) (cmds []Command, passed bool) {
	point := plan.PointParallelProviderEnd
	if b.Loop.Phase != state.PhaseSettled {
		if b.Stage > 0 || !b.Loop.IsFresh() {
			return nil, true
		}
		point, loc.Iteration = plan.PointParallelProviderStart, 0
	}
	return newHookPoint(point, v.node, loc, b.HookCursor).dueCommands(v.plan, v.state)
}

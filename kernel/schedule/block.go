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
func decideBlock(p *plan.Plan, s state.State, n *plan.Node, ns state.Node) []Command {
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
			due := decideBranch(p, s, n, ns, id, b)
			if isResting(due) {
				waits = append(waits, due...)
				continue
			}
			cmds = append(cmds, due...)
		}
	}
	switch {
	case ended == len(n.Providers):
		return endBlock(p, s, n, ns)
	case ended+len(waits) == len(n.Providers):
		return decideRest(p, s, waits)
	default:
		return cmds
	}
}

// endBlock completes a block whose providers have all ended. If none has failed, it writes the manifest first.
func endBlock(p *plan.Plan, s state.State, n *plan.Node, ns state.Node) []Command {
	_, written := ns.Artifacts[event.Manifest]
	if written || progress.FailedBranches(n, ns) != nil {
		return completeNode(p, s, n, ns)
	}
	loc := ns.IterationLocation(n.Path)
	return []Command{{Kind: WriteManifest, Key: loc.Key(event.KeyManifest, 1), Location: loc}}
}

// decideBranch continues the loop of the provider's current stage, or ends the provider's work.
func decideBranch(p *plan.Plan, s state.State, n *plan.Node, ns state.Node, id string, b state.Branch) []Command {
	loc := ns.BranchLocation(n.Path, id)
	point := plan.PointParallelProviderStart
	if b.Loop.Phase == state.PhaseSettled {
		point = plan.PointParallelProviderEnd
	}
	if cmds, passed := decideProviderHooks(p, s, point, n, loc, b); !passed {
		return cmds
	}
	if b.Loop.Phase == state.PhaseSettled {
		return record(branchCompleteEvent(n, id, b))
	}
	stage := progress.StageAt(p, s, loc)
	if stage == nil {
		return record(planMismatchEvent(s))
	}
	return decideLoop(p, s, stage, loc, b.Loop)
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
func decideProviderHooks(p *plan.Plan, s state.State, point plan.HookPoint, n *plan.Node, loc event.Location, b state.Branch) (cmds []Command, passed bool) {
	if point == plan.PointParallelProviderStart {
		if b.Stage > 0 || !b.Loop.IsFresh() {
			return nil, true
		}
		loc.Iteration = 0
	}
	return newHookPoint(point, n, loc, b.HookCursor).dueCommands(p, s)
}

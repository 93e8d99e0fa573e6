package schedule

import (
	"cmp"
	"fmt"

	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/kernel/progress"
	"github.com/dodo-digital/agent-pipelines/kernel/state"
)

// decideNode enters the node, runs its loop, and commits the transition when the loop is settled.
func decideNode(p *plan.Plan, s state.State, n *plan.Node) []Command {
	ns, entered := s.Nodes[n.Path]
	if !entered || ns.Status != state.NodeRunning {
		return record(nodeStartEvent(p, s, n))
	}
	v := visit{p, s, n, ns}
	if ns.Restart != nil {
		return v.decideRestart()
	}
	if p.Skipped(n) {
		return v.skip(&event.Cursor{NodePath: n.Path}, "by the user")
	}
	switch {
	case ns.Inspect:
		return []Command{{Kind: Inspect, Key: ns.InputKey(n.Path), Location: ns.Location(n.Path)}}
	case ns.Skip != "":
		return v.skip(ns.Location(n.Path).Cursor(), ns.Skip)
	case ns.InputFailure != nil:
		return v.complete()
	}
	if cmds, passed := v.decideStartHooks(); !passed {
		return cmds
	}
	switch {
	case n.Kind == plan.KindParallel:
		return v.decideBlock()
	case n.Kind == plan.KindPipeline:
		return v.decideEmbedded()
	case ns.Loop.Phase == state.PhaseSettled:
		return v.complete()
	case ns.Loop.Phase == state.PhaseSteps:
		return v.decideSteps()
	default:
		return stageLoop{p, s, n, ns.IterationLocation(n.Path), ns.Loop}.decide()
	}
}

func nodeStartEvent(p *plan.Plan, s state.State, n *plan.Node) event.Event {
	switch n.Kind {
	case plan.KindParallel:
		return blockStartEvent(n)
	case plan.KindPipeline:
		return embeddedStartEvent(p, n)
	}
	d := event.NodeStartData{Name: progress.NodeName(p, s, n), Type: n.Ref}
	if n.Provider != nil {
		d.Provider, d.Model = n.Provider.EventName(), n.Provider.Model
	}
	if s.Mode != "loop" {
		d.Runs = n.Termination.Max()
	}
	return event.New(event.NodeStart, &event.Cursor{NodePath: n.Path}, "", d)
}

func embeddedStartEvent(p *plan.Plan, n *plan.Node) event.Event {
	return event.New(event.NodeStart, &event.Cursor{NodePath: n.Path}, "",
		event.PipelineStartData{Name: n.ID, Kind: string(n.Kind), Pipeline: n.Ref, Runs: p.MaxRuns(n)})
}

// decideEmbedded runs a pipeline node that was entered. Each run begins at the embedded plan's first node, and
// ends with the transition that leaves the embedded plan.
func (v visit) decideEmbedded() []Command {
	n, ns, limit := v.node, v.nodeState, v.plan.MaxRuns(v.node)
	if ns.Runs < limit {
		return record(event.New(event.NodeRunStart, &event.Cursor{NodePath: n.Path, NodeRun: ns.Runs + 1}, "",
			event.RunStartData{Name: n.ID, N: ns.Runs + 1, Max: limit}))
	}
	if progress.NeedsDeliverable(n, ns) {
		return []Command{{Kind: Settle, Key: ns.DeliverableKey(n.Path), Location: ns.Location(n.Path)}}
	}
	return v.complete()
}

// decideRestart enters the node again once none of its effects is in flight. Beyond the limit the user must agree,
// because a hook that rejects every result could repeat the stage without end.
func (v visit) decideRestart() []Command {
	p, s, n, ns := v.plan, v.state, v.node, v.nodeState
	if len(ns.EffectsInFlight(n.Path)) > 0 {
		return nil
	}
	limit := maxRestarts(p, n)
	if ns.Restart.Approved || ns.Visit-s.PriorVisits[n.Path] <= limit {
		return record(nodeStartEvent(p, s, n))
	}
	return escalate(p, s, n, escalation{key: ns.RestartKey(n.Path), cursor: ns.Location(n.Path).Cursor(), shown: shownFiles(ns.Loop), text: fmt.Sprintf(
		"a hook restarts %s again (%s), but policy.feedback allows %d; approve allows it, reject ends the run", n.ID, cmp.Or(ns.Restart.Reason, "no reason given"), limit)})
}

// maxRestarts returns how often a node may be restarted without asking the user.
func maxRestarts(p *plan.Plan, n *plan.Node) int {
	f := p.EffectivePolicy(n).Feedback
	switch {
	case f == nil:
		return defaultRestarts
	case !f.Enabled:
		return 0
	default:
		return cmp.Or(f.Max, defaultRestarts)
	}
}

// defaultRestarts is how often hooks may restart a node (REQUIREMENTS K31).
const defaultRestarts = 3

// skip completes a node without running it. The node has been entered, so that the journal shows it. The edge
// for a skip leads forward or ends the run.
func (v visit) skip(cursor *event.Cursor, reason string) []Command {
	p, s, n := v.plan, v.state, v.node
	d := event.NodeCompleteData{
		Name: progress.NodeName(p, s, n), Status: string(state.NodeSkipped), Reason: reason,
		Outcome: string(plan.OutcomeSkip), To: p.Route(n, plan.OutcomeSkip).To,
	}
	if d.To != plan.ToFailed {
		return record(event.New(event.NodeComplete, cursor, "", d))
	}
	d.Status, d.Failure = string(state.NodeFailed), v.outcomeFailure(progress.Outcome{Outcome: plan.OutcomeSkip, Reason: reason})
	return completeSession(p, s, event.New(event.NodeComplete, cursor, "", d))
}

// decideStartHooks returns the commands for the stage_start hooks of a node that was entered and has not begun.
func (v visit) decideStartHooks() (cmds []Command, passed bool) {
	if v.nodeState.HasBegun() {
		return nil, true
	}
	return newHookPoint(plan.PointStageStart, v.node, v.nodeState.Location(v.node.Path), v.nodeState.HookCursor).dueCommands(v.plan, v.state)
}

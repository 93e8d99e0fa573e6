package schedule

import (
	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/kernel/progress"
	"github.com/dodo-digital/agent-pipelines/kernel/state"
)

// decideSteps runs a pass over the steps of a node: in plan order, each step begins when its dependencies are done. A
// step that waits for the user pauses the run when nothing else of the pass can continue.
func (v visit) decideSteps() []Command {
	n, ns := v.node, v.nodeState
	if ns.Order == nil {
		loc := ns.IterationLocation(n.Path)
		return []Command{{Kind: PlanSteps, Key: loc.Key(event.KeyPlan, 1), Location: loc}}
	}
	var cmds, waits []Command
	running := 0
	for i, id := range ns.Order {
		st := ns.Steps[id]
		if st.Status != state.StepRunning {
			continue
		}
		running++
		due := v.decideStep(i)
		if isResting(due) {
			waits = append(waits, due...)
			continue
		}
		cmds = append(cmds, due...)
	}
	cmds = append(cmds, beginSteps(n, ns, running)...)
	if len(cmds) == 0 && len(waits) > 0 && len(waits) == running {
		return decideRest(v.plan, v.state, waits)
	}
	return cmds
}

// decideStep continues the loop of a running step, or ends the step.
func (v visit) decideStep(i int) []Command {
	ns, id := v.nodeState, v.nodeState.Order[i]
	st, loc := ns.Steps[id], ns.StepLocation(v.node.Path, id)
	if st.Loop.Phase != state.PhaseSettled {
		return stageLoop{v.plan, v.state, v.node, loc, st.Loop}.decide()
	}
	d := event.StepCompleteData{
		Step: id, Title: st.Title, Status: string(state.StepComplete), Outcome: st.Loop.Outcome, Reason: st.Loop.Reason,
		N: i + 1, Total: len(ns.Order), Done: ns.StepsDone(), Failure: st.Loop.Failure,
	}
	if d.Outcome == string(plan.OutcomeSuccess) {
		d.Done++
	} else {
		d.Status = string(state.StepFailed)
	}
	return record(event.New(event.StepComplete, loc.Cursor(), "", d))
}

// beginSteps begins the steps that are ready, and blocks the steps that depend on a failed step.
func beginSteps(n *plan.Node, ns state.Node, running int) []Command {
	limit := 1
	if n.Steps.Parallel {
		limit = progress.MaxParallelSteps
	}
	var cmds []Command
	for i, id := range ns.Order {
		st := ns.Steps[id]
		if st.Status != state.StepPending {
			continue
		}
		loc := ns.StepLocation(n.Path, id)
		switch by, ready := ns.CheckDependencies(st); {
		case by != "":
			cmds = append(cmds, record(event.New(event.StepBlocked, loc.Cursor(), "", event.StepBlockedData{Step: id, By: by}))...)
		case ready && running < limit:
			running++
			cmds = append(cmds, record(event.New(event.StepStart, loc.Cursor(), "",
				event.StepStartData{Step: id, Title: st.Title, N: i + 1, Total: len(ns.Order)}))...)
		}
	}
	return cmds
}

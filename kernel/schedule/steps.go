package schedule

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/kernel/state"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
)

// parallelSteps is the maximum number of steps of a node that run concurrently.
const parallelSteps = 4

// codeStepTimeout is the code of a step that timed out (DIALECT B8).
const codeStepTimeout = "ACODE-EXEC-006"

// passesSteps reports whether an iteration at the location is a pass over the node's steps, which no agent runs
// itself.
func passesSteps(n *plan.Node, loc event.Location) bool { return n.Steps != nil && loc.Step == "" }

// decideSteps runs a pass over the steps of a node: in plan order, each step begins when its dependencies are done. A
// step that waits for the user pauses the run when nothing else of the pass can continue.
func decideSteps(p *plan.Plan, s state.State, n *plan.Node, ns state.Node) []Command {
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
		due := decideStep(p, s, n, ns, i)
		if isResting(due) {
			waits = append(waits, due...)
			continue
		}
		cmds = append(cmds, due...)
	}
	cmds = append(cmds, beginSteps(n, ns, running)...)
	if len(cmds) == 0 && len(waits) > 0 && len(waits) == running {
		return decideRest(p, s, waits)
	}
	return cmds
}

// decideStep continues the loop of a running step, or ends the step.
func decideStep(p *plan.Plan, s state.State, n *plan.Node, ns state.Node, i int) []Command {
	id := ns.Order[i]
	st := ns.Steps[id]
	loc := ns.StepLocation(n.Path, id)
	if st.Loop.Phase != state.PhaseSettled {
		return decideLoop(p, s, n, loc, st.Loop)
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

// beginSteps begins the steps that are ready, and blocks those that depend on a failed step.
func beginSteps(n *plan.Node, ns state.Node, running int) []Command {
	limit := 1
	if n.Steps.Parallel {
		limit = parallelSteps
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

// runningSteps returns the running node whose steps the event is about.
func runningSteps(p *plan.Plan, s *state.State, e event.Event) (*plan.Node, state.Node, error) {
	n, ns := p.Find(s.At), s.Nodes[s.At]
	switch {
	case n == nil || n.Steps == nil || ns.Status != state.NodeRunning || e.Cursor == nil || e.Cursor.NodePath != s.At:
		return nil, ns, invalidTransition(e, "the run is not at that node")
	case ns.Loop.Phase != state.PhaseSteps:
		return nil, ns, invalidTransition(e, fmt.Sprintf("the node is in phase %s", ns.Loop.Phase))
	}
	return n, ns, nil
}

// decodeStepEvent decodes an event about the steps of the running node.
func decodeStepEvent[T any](p *plan.Plan, s *state.State, e event.Event) (d T, n *plan.Node, ns state.Node, err error) {
	if d, err = event.Decode[T](e); err == nil {
		n, ns, err = runningSteps(p, s, e)
	}
	return d, n, ns, err
}

// applyStepsPlanned sets the steps of the visit. Steps that an earlier visit finished stay done unless a repeat is
// requested; if that leaves no work, all of them run again.
func applyStepsPlanned(p *plan.Plan, s *state.State, e event.Event) error {
	d, n, ns, err := decodeStepEvent[event.StepsPlannedData](p, s, e)
	if err != nil {
		return err
	}
	if want := ns.IterationLocation(s.At).Key(event.KeyPlan, 1); ns.Order != nil || e.Key != want {
		return invalidTransition(e, "the node does not wait for its steps")
	}
	if s.Stop != nil && d.Failure != nil && causedByStop(d.Failure) {
		return nil
	}
	if d.Failure == nil && len(d.Steps) == 0 {
		d.Failure = &event.FailureData{
			Code: failure.ResultInvalid.Code(), ErrorType: string(failure.ResultInvalid), Node: n.ID, Stage: n.ID, Message: "there are no steps",
		}
	}
	if d.Failure != nil {
		ns.Loop.Fail(d.Failure)
		s.Nodes[s.At] = ns
		return nil
	}
	old := ns.Steps
	ns.Steps, ns.Order = map[string]state.Step{}, nil
	for _, step := range d.Steps {
		st := state.Step{Status: state.StepPending, StepData: step}
		previous, known := old[step.ID]
		if known && previous.Status.Done() && previous.Item.SHA256 == step.Item.SHA256 && n.Steps.Rerun != "all" && !slices.Contains(ns.FailedSteps, step.ID) {
			st.Status, st.Output = previous.Status, previous.Output
		}
		ns.Steps[step.ID] = st
	}
	ns.Order = sortSteps(d.Steps)
	if len(ns.Order) < len(d.Steps) {
		return invalidTransition(e, "the steps have a dependency cycle")
	}
	if ns.StepsDone() == len(ns.Order) {
		ns.RepeatSteps(nil)
	}
	ns.FailedSteps = nil
	endPass(n, &ns) // the user has skipped all of them
	s.Nodes[s.At] = ns
	return nil
}

// sortSteps returns the ids of the steps, each after its dependencies and else in plan order. Steps in a dependency
// cycle are left out.
func sortSteps(steps []event.StepData) []string {
	var order []string
	placed := map[string]bool{}
	for len(order) < len(steps) {
		i := slices.IndexFunc(steps, func(st event.StepData) bool {
			return !placed[st.ID] && !slices.ContainsFunc(st.DependsOn, func(id string) bool { return !placed[id] })
		})
		if i < 0 {
			return order
		}
		placed[steps[i].ID] = true
		order = append(order, steps[i].ID)
	}
	return order
}

func applyStepStart(p *plan.Plan, s *state.State, e event.Event) error {
	d, _, ns, err := decodeStepEvent[event.StepStartData](p, s, e)
	if err != nil {
		return err
	}
	st, known := ns.Steps[d.Step]
	if _, ready := ns.CheckDependencies(st); !known || st.Status != state.StepPending || !ready {
		return invalidTransition(e, fmt.Sprintf("step %q cannot begin", d.Step))
	}
	st.Status, st.Reason = state.StepRunning, ""
	st.Loop = state.Loop{Phase: state.PhaseReady, Feedback: st.Loop.Feedback}
	st.Loop.StartAfter(st.Last)
	ns.Steps[d.Step] = st
	s.Nodes[s.At] = ns
	return nil
}

func applyStepComplete(p *plan.Plan, s *state.State, e event.Event) error {
	d, n, ns, err := decodeStepEvent[event.StepCompleteData](p, s, e)
	if err != nil {
		return err
	}
	st, known := ns.Steps[d.Step]
	if !known || st.Status != state.StepRunning || st.Loop.Phase != state.PhaseSettled {
		return invalidTransition(e, fmt.Sprintf("step %q has not ended", d.Step))
	}
	st.Status, st.Reason, st.Last = state.StepStatus(d.Status), "", st.Loop.Iteration
	if st.Status == state.StepFailed {
		st.Reason = d.Reason
	} else {
		st.Loop = state.Loop{}
	}
	ns.Steps[d.Step] = st
	endPass(n, &ns)
	s.Nodes[s.At] = ns
	return nil
}

func applyStepBlocked(p *plan.Plan, s *state.State, e event.Event) error {
	d, n, ns, err := decodeStepEvent[event.StepBlockedData](p, s, e)
	if err != nil {
		return err
	}
	st, known := ns.Steps[d.Step]
	if by, _ := ns.CheckDependencies(st); !known || st.Status != state.StepPending || by == "" {
		return invalidTransition(e, fmt.Sprintf("step %q is not blocked", d.Step))
	}
	st.Status, st.Reason = state.StepBlocked, "step "+d.By+" failed"
	ns.Steps[d.Step] = st
	endPass(n, &ns)
	s.Nodes[s.At] = ns
	return nil
}

// endPass ends a pass when no step is left: with the first failure, or by starting the checks.
func endPass(n *plan.Node, ns *state.Node) {
	var failed *state.Step
	for _, id := range ns.Order {
		switch st := ns.Steps[id]; {
		case st.Status == state.StepPending || st.Status == state.StepRunning:
			return
		case st.Status != state.StepFailed || failed != nil && st.Loop.Outcome != string(plan.OutcomeEscalate):
		case failed == nil || failed.Loop.Outcome != string(plan.OutcomeEscalate): // an escalation comes first
			failed = &st
		}
	}
	if failed == nil {
		startChecks(n, &ns.Loop)
		return
	}
	l := &ns.Loop
	l.Phase, l.Failure, l.IterationStartedAt = state.PhaseSettled, stepFailure(n, *failed), nil
	l.Outcome, l.Reason = failed.Loop.Outcome, l.Failure.Message
	l.Feedback, l.Message, l.Verdict = failed.Loop.Feedback, l.Failure.Message, failed.Loop.Verdict
}

// stepFailure returns the node's failure for a failed step.
func stepFailure(n *plan.Node, st state.Step) *event.FailureData {
	f := event.FailureData{Code: failure.AgentError.Code(), ErrorType: string(failure.AgentError), Message: cmp.Or(st.Reason, "no reason given")}
	if st.Loop.Failure != nil {
		f = *st.Loop.Failure
	}
	f.Node, f.Stage, f.Step, f.Usage, f.Collateral = n.ID, n.ID, st.ID, nil, false
	switch failure.Kind(f.ErrorType) {
	case failure.IterationTimeout:
		f.Code = codeStepTimeout
	case failure.BudgetExceeded, failure.TurnLimit, failure.SandboxViolation, failure.ApprovalDenied, failure.ApprovalRequired: // keep their own code
	default:
		f.Code = failure.StepFailed.Code()
	}
	f.Message = fmt.Sprintf("step %s failed: %s", st.ID, f.Message)
	return &f
}

// resumeWithoutFailed continues a settled node in the same visit without its failed steps. It reports whether there
// were any.
func resumeWithoutFailed(n *plan.Node, ns *state.Node) bool {
	if !ns.SkipFailedSteps() || ns.Loop.Phase != state.PhaseSettled {
		return false
	}
	ns.StageAttempt, ns.Approved, ns.Restart = 0, false, nil
	prepareStageRetry(n, ns)
	return true
}

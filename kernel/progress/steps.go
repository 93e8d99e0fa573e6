package progress

import (
	"fmt"
	"slices"

	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/kernel/state"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
)

// MaxParallelSteps is the maximum number of steps of a node that run concurrently.
const MaxParallelSteps = 4

// runningSteps returns the running node whose steps the event is about.
func runningSteps(p *plan.Plan, s *state.State, e event.Event) (*plan.Node, state.Node, error) {
	n, ns, err := runningNode(p, s, e)
	if err == nil && (n.Steps == nil || ns.Loop.Phase != state.PhaseSteps) {
		err = invalidTransition(e, fmt.Sprintf("the node is in phase %s", ns.Loop.Phase))
	}
	return n, ns, err
}

// applyStepsPlanned sets the steps of the visit. Steps that an earlier visit finished stay done unless a repeat is
// requested; if that leaves no work, all of them run again.
func applyStepsPlanned(p *plan.Plan, s *state.State, e event.Event, d event.StepsPlannedData) error {
	n, ns, err := runningSteps(p, s, e)
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
	endPass(n, &ns) // the user may have skipped all steps
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

// stepChange is a change of a step by an event. If apply returns false, the event does not fit the state, and fault is
// the reason.
type stepChange struct {
	step  string // its id
	fault string
	apply func(ns state.Node, st *state.Step) bool
}

// updateStep changes a step of the running node.
func updateStep(p *plan.Plan, s *state.State, e event.Event, change stepChange) error {
	n, ns, err := runningSteps(p, s, e)
	if err != nil {
		return err
	}
	st := ns.Steps[change.step]
	if !change.apply(ns, &st) {
		return invalidTransition(e, fmt.Sprintf("step %q %s", change.step, change.fault))
	}
	ns.Steps[change.step] = st
	endPass(n, &ns)
	s.Nodes[s.At] = ns
	return nil
}

func applyStepStart(p *plan.Plan, s *state.State, e event.Event, d event.StepStartData) error {
	return updateStep(p, s, e, stepChange{d.Step, "cannot begin", func(ns state.Node, st *state.Step) bool {
		if _, ready := ns.CheckDependencies(*st); st.Status != state.StepPending || !ready {
			return false
		}
		st.Status, st.Reason = state.StepRunning, ""
		st.Loop = state.Loop{Progress: state.Progress{Phase: state.PhaseReady}, LastIteration: state.LastIteration{Feedback: st.Loop.Feedback}}
		st.Loop.StartAfter(st.Last)
		return true
	}})
}

func applyStepComplete(p *plan.Plan, s *state.State, e event.Event, d event.StepCompleteData) error {
	return updateStep(p, s, e, stepChange{d.Step, "has not ended", func(_ state.Node, st *state.Step) bool {
		if st.Status != state.StepRunning || st.Loop.Phase != state.PhaseSettled {
			return false
		}
		st.Status, st.Reason, st.Last = state.StepStatus(d.Status), "", st.Loop.Iteration
		if st.Status == state.StepFailed {
			st.Reason = d.Reason
		} else {
			st.Loop = state.Loop{}
		}
		return true
	}})
}

func applyStepBlocked(p *plan.Plan, s *state.State, e event.Event, d event.StepBlockedData) error {
	return updateStep(p, s, e, stepChange{d.Step, "is not blocked", func(ns state.Node, st *state.Step) bool {
		if by, _ := ns.CheckDependencies(*st); st.Status != state.StepPending || by == "" {
			return false
		}
		st.Status, st.Reason = state.StepBlocked, "step "+d.By+" failed"
		return true
	}})
}

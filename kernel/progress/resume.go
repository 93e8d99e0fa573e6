package progress

import (
	"errors"
	"fmt"
	"maps"

	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/kernel/state"
)

// applyResumed continues a paused, failed or crashed run. It approves the work that the run had stopped for; a
// run that crashed while it waited keeps waiting.
func applyResumed(p *plan.Plan, s *state.State, e event.Event, d event.SessionResumedData) error {
	switch {
	case d.ReenterNode != "":
		if err := reenterNode(p, s, d.ReenterNode); err != nil {
			return invalidTransition(e, err.Error())
		}
	case s.Status != state.Running && !s.Status.CanBecome(state.Running):
		return invalidTransition(e, fmt.Sprintf("a session that is %s cannot be resumed", s.Status))
	}
	if d.ResetCycles {
		s.Cycles, s.Returns = nil, 0
	}
	if s.Status != state.Running { // no timer is needed for a retry that starts over or runs at once
		maps.DeleteFunc(s.Timers, func(_ event.Key, t state.Timer) bool { return t.Purpose == state.PurposeBackoff })
	}
	if n, ok := s.Nodes[s.At]; ok && d.ReenterNode == "" {
		resumeNode(p, s, n, d)
	}
	if s.Stop != nil && !abortedByHook(*s) && (s.Status != state.Running || !s.Stop.Hook) { // a hook's stop in a run that crashed still counts
		s.Stop = nil
	}
	if s.Status != state.Running {
		s.DropQuestions(func(q state.Question) bool { return q.Kind == event.QuestionEscalation })
	}
	now := e.Time
	s.Status, s.Reason, s.PauseKind, s.PauseReason, s.PauseCode, s.EndedAt, s.Failure, s.ResumedAt = state.Running, "", "", "", "", nil, nil, &now
	s.AppendContext(d.Context)
	return nil
}

// CheckReentry returns an error unless the user can restart the top-level node at path. The run must have stopped
// there with no attempt interrupted, or be complete and have entered the node.
func CheckReentry(p *plan.Plan, s state.State, path string) error {
	n, entered := s.Nodes[path]
	node := p.Find(path)
	switch {
	case node == nil || p.Embedder(path) != "":
		return fmt.Errorf("the pipeline has no top-level node at %s", path)
	case !entered:
		return fmt.Errorf("%s has not run yet", node.ID)
	case s.Status == state.Completed:
		return nil
	case s.Status == state.Running || s.Status == state.Aborted:
		return fmt.Errorf("the session is %s", s.Status)
	case s.At == "":
		return errors.New("the run is past its last node")
	case s.At != path:
		return fmt.Errorf("the run is at %s", NodeName(p, s, p.Find(s.At)))
	case len(n.EffectsInFlight(path)) > 0:
		return fmt.Errorf("an attempt of %s was interrupted", node.ID)
	}
	return nil
}

// reenterNode continues the run with the node at path, as a new visit.
func reenterNode(p *plan.Plan, s *state.State, path string) error {
	if err := CheckReentry(p, *s, path); err != nil {
		return err
	}
	n := s.Nodes[path]
	n.Restart = &state.Restart{Reason: "restarted by the user", Approved: true}
	s.At, s.Nodes[path] = path, n
	s.HookCursor = s.HookCursor.Reopen(plan.PointSessionEnd)
	return nil
}

// resumeNode continues the current node. The resume approves an open escalation about the node; otherwise the failed
// work is retried.
func resumeNode(p *plan.Plan, s *state.State, n state.Node, d event.SessionResumedData) {
	if s.Status == state.Failed {
		n.Status, n.Outcome, n.Reason, n.EndedAt, n.Failure, n.Escalations = state.NodeRunning, "", "", nil, nil, 0
		n.HookCursor, s.HookCursor = n.HookCursor.Reopen(plan.PointStageEnd), s.HookCursor.Reopen(plan.PointSessionEnd)
	}
	without := d.SkipFailedStep && resumeWithoutFailed(p.Find(s.At), &n)
	if without {
		s.DropNodeQuestions(s.At)
	}
	if s.Status != state.Running {
		if !without && !s.EndHooksBegun(n.IterationLocation(s.At), n.HookCursor) && !s.EndHooksBegun(event.Location{}, s.HookCursor) {
			retryFailed(p, *s, &n)
		}
		if _, asked := s.Questions[event.QuestionID(n.RestartKey(s.At))]; asked && n.Restart != nil {
			n.Restart = &state.Restart{Reason: n.Restart.Reason, Approved: true}
		}
	}
	s.Nodes[s.At] = n
	if _, asked := s.Questions[event.QuestionID(n.EscalationKey(s.At))]; asked && s.Status != state.Running {
		approveOverride(p, s, s.At)
	}
}

// retryFailed retries the failed work of the current node.
func retryFailed(p *plan.Plan, s state.State, n *state.Node) {
	if _, asked := s.Questions[event.QuestionID(n.EscalationKey(s.At))]; asked {
		return // approveOverride decides about the whole node
	}
	if n.InputFailure != nil {
		reinspectInput(p.Find(s.At), n)
		return
	}
	if node := p.Find(s.At); node != nil && node.HasContract() && n.Loop.Phase == state.PhaseSettled {
		if n.Approved = p.Route(node, NodeOutcome(s, node, *n).Outcome).Name != ""; !n.Approved {
			n.StageAttempt = 0
			prepareStageRetry(node, n)
		}
		return
	}
	n.UpdateLoops(s.At, func(loc event.Location, l *state.Loop) {
		if b := n.Branches[loc.Branch]; b.Status == state.NodeRunning && s.EndHooksBegun(loc, b.HookCursor) {
			return
		}
		_, asked := s.Questions[event.QuestionID(l.CutOffKey(loc))]
		l.Resume(asked)
	})

	n.ReopenBranches()
}

// reinspectInput makes a node inspect its input artifact again after the artifact was invalid.
func reinspectInput(n *plan.Node, ns *state.Node) {
	if ns.Runs > 0 { // a pipeline node that ended with an invalid artifact
		ns.Restart = &state.Restart{Reason: ns.InputFailure.Message, Approved: true}
		return
	}
	ns.Inspect, ns.InputFailure, ns.HookCursor = true, nil, state.HookCursor{Round: ns.HookCursor.Round + 1}
	if n != nil && n.Kind == plan.KindStage {
		ns.Loop = newLoop(n)
	}
}

// resumeWithoutFailed continues a settled node in the same visit without its failed steps. It reports whether there
// were failed steps.
func resumeWithoutFailed(n *plan.Node, ns *state.Node) bool {
	if !ns.SkipFailedSteps() || ns.Loop.Phase != state.PhaseSettled {
		return false
	}
	ns.StageAttempt, ns.Approved, ns.Restart = 0, false, nil
	prepareStageRetry(n, ns)
	return true
}

package progress

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/kernel/state"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
)

func applySessionStart(p *plan.Plan, s *state.State, e event.Event, d event.SessionStartData) error {
	if e.RunID == "" {
		return invalidTransition(e, "no run_id")
	}
	seq, epoch, handled, escalation := e.Seq, s.Epoch, s.Handled, s.Escalation
	*s = state.State{
		Identity: state.Identity{
			Session: e.Session, RunID: e.RunID, Mode: d.Mode, Pipeline: d.Pipeline,
			SchedulerVersion: d.SchedulerVersion, PlanSHA256: d.PlanSHA256, SkipDelays: d.SkipDelays, Providers: d.Providers,
		},
		Seq: seq, Epoch: epoch, UserInput: state.UserInput{Handled: handled, Escalation: escalation},
		Lifecycle: state.Lifecycle{Status: state.Running, StartedAt: e.Time},
		Position:  state.Position{At: p.First(), Nodes: map[string]state.Node{}, Input: d.Input, SuppliedArtifacts: d.SuppliedArtifacts},
	}

	if d.Runs > 1 {
		s.Run, s.Runs = 1, d.Runs
	}
	return nil
}

// applyKernelStart begins an epoch: everything that the previous kernel had in flight is cut off.
func applyKernelStart(p *plan.Plan, s *state.State, e event.Event, d event.KernelStartData) error {
	if e.Epoch <= s.Epoch {
		return invalidTransition(e, fmt.Sprintf("epoch %d has already begun", s.Epoch))
	}
	s.Epoch, s.Callbacks, s.Waits = e.Epoch, d.Callbacks, d.Waits
	s.Confined = s.Confined || d.Confined
	if s.Stop != nil && !s.Stop.Hook {
		s.Stop = nil
	}
	s.HookCursor.Firing = 0
	s.DropQuestions(func(q state.Question) bool { return q.Kind == event.QuestionTool }) // of interrupted attempts
	// Sorted, because sums of money depend on the order.
	for _, path := range slices.Sorted(maps.Keys(s.Nodes)) {
		n := s.Nodes[path]
		if n.Status != state.NodeRunning {
			continue
		}
		n.HookCursor.Firing = 0
		for id, b := range n.Branches {
			b.HookCursor.Firing = 0
			n.Branches[id] = b
		}
		n.UpdateLoops(path, func(loc event.Location, l *state.Loop) {
			l.HookCursor.Firing = 0
			if l.Phase == state.PhaseAttempt || l.Phase == state.PhaseAsking { // the call is charged its estimate
				endedCall{loc.Node, l.Reserved, nil, s.Seq}.charge(p, s)
				l.Reserved = nil
			}
			l.Recover(p.EffectivePolicy(p.Find(loc.Node)).Recovery)
		})
		s.Nodes[path] = n
	}
	return nil
}

func applyImported(_ *plan.Plan, s *state.State, e event.Event, d event.SessionImportedData) error {
	in, err := state.Parse(d.State)
	if err != nil {
		return invalidTransition(e, "cannot read its state: "+err.Error())
	}
	in.Seq, in.Epoch = e.Seq, max(s.Epoch, in.Epoch)
	if in.Nodes == nil {
		in.Nodes = map[string]state.Node{}
	}
	*s = in
	return nil
}

func applyPaused(_ *plan.Plan, s *state.State, e event.Event, d event.SessionPausedData) error {
	if err := setStatus(s, e, state.Paused); err != nil {
		return err
	}
	s.PauseKind, s.PauseReason, s.PauseCode, s.Stop = state.PauseKind(d.Kind), d.Reason, d.Code, nil
	s.ClearDeadlines()
	return nil
}

func applyComplete(_ *plan.Plan, s *state.State, e event.Event, d event.SessionCompleteData) error {
	if err := setStatus(s, e, state.Completed); err != nil {
		return err
	}
	s.DropQuestions(func(state.Question) bool { return true })
	s.Reason, s.ExitedAfter = d.Reason, d.ExitAfter
	return nil
}

func applyAborted(_ *plan.Plan, s *state.State, e event.Event, d event.SessionAbortedData) error {
	if err := setStatus(s, e, state.Aborted); err != nil {
		return err
	}
	s.DropQuestions(func(state.Question) bool { return true })
	s.Reason, s.Stop, s.PauseKind, s.PauseReason = d.Reason, nil, "", ""
	s.Failure = &event.FailureData{Code: failure.Aborted.Code(), ErrorType: string(failure.Aborted), Message: cmp.Or(d.Reason, "aborted")}
	return nil
}

func applyControl(_ *plan.Plan, s *state.State, e event.Event, d event.ControlData) error {
	if err := markHandled(s, e, d.ID); err != nil {
		return err
	}
	switch d.Action {
	case "pause":
		kind := state.PauseKind(cmp.Or(d.Kind, string(state.PauseUser)))
		if s.Status == state.Running && (s.Stop == nil || s.Stop.Action != "abort") {
			s.Stop = &state.Stop{Action: "pause", Kind: kind, Reason: d.Reason, By: d.By, Hook: s.Stop != nil && s.Stop.Hook}
		}
	case "abort":
		if !s.Status.Final() && !abortedByHook(*s) {
			s.Stop = &state.Stop{Action: "abort", Reason: cmp.Or(d.Reason, "User requested"), By: d.By}
		}
	case "feedback":
		if !s.Status.Final() {
			s.AppendContext(d.Text)
		}
	}
	return nil
}

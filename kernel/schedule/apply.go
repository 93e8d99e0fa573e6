package schedule

import (
	"errors"
	"fmt"

	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/kernel/state"
)

// ErrInvalidTransition is wrapped by the errors of [Apply] for an event that does not fit the state: a late delivery,
// a duplicate, or an event of an outdated kernel. The state is then unchanged.
var ErrInvalidTransition = errors.New("event does not fit the state")

func invalidTransition(e event.Event, reason string) error {
	return fmt.Errorf("%w: event %d (%s): %s", ErrInvalidTransition, e.Seq, e.Type, reason)
}

// Apply returns the state after the event and leaves s unchanged. Informative events, and unknown ones that are not
// critical, change only the sequence number. An error wraps [ErrInvalidTransition], or means that the event's data
// cannot be read; the returned state is then s.
func Apply(p *plan.Plan, s state.State, e event.Event) (state.State, error) {
	if e.Seq != 0 && e.Seq <= s.Seq {
		return s, invalidTransition(e, fmt.Sprintf("event %d has already been applied", s.Seq))
	}
	if e.Type != event.KernelStart && e.Type != event.SessionStart && e.Epoch != 0 && e.Epoch < s.Epoch {
		return s, invalidTransition(e, fmt.Sprintf("epoch %d is outdated, %d has begun", e.Epoch, s.Epoch))
	}
	if c := e.Cursor; c != nil && c.Run > 1 && c.Run != s.Run && e.Type != event.RunStart && !e.Type.Informative() {
		return s, invalidTransition(e, fmt.Sprintf("it belongs to run %d of the pipeline", c.Run))
	}
	next := s.Clone()
	if err := apply(p, &next, e); err != nil {
		return s, err
	}
	if next.Guarded() {
		if err := updateGuardrails(p, s, &next, e); err != nil {
			return s, err
		}
	}
	if e.Seq != 0 {
		next.Seq = e.Seq
	}
	return next, nil
}

func apply(p *plan.Plan, s *state.State, e event.Event) error {
	if s.RunID == "" && e.Type != event.SessionStart && e.Type != event.SessionImported && e.Type != event.KernelStart && !e.Type.Informative() {
		return invalidTransition(e, "no session_start before it")
	}
	switch e.Type {
	case event.SessionStart:
		return applySessionStart(p, s, e)
	case event.RunStart:
		return applyRunStart(p, s, e)
	case event.KernelStart:
		return applyKernelStart(p, s, e)
	case event.SessionImported:
		return applyImported(s, e)
	case event.SessionResumed:
		return applyResumed(p, s, e)
	case event.SessionPaused:
		return applyPaused(s, e)
	case event.SessionComplete:
		return applyComplete(s, e)
	case event.SessionAborted:
		return applyAborted(s, e)
	case event.Control:
		return applyControl(s, e)
	case event.QuestionAsked:
		return applyQuestionAsked(s, e)
	case event.QuestionAnswered:
		return applyQuestionAnswered(p, s, e)
	case event.HookStart:
		return applyHookStart(s, e)
	case event.HookSkipped:
		return applyHookSkipped(s, e)
	case event.HookComplete, event.HookTimeout:
		return applyHookEnd(p, s, e)
	case event.TimerSet:
		return applyTimerSet(s, e)
	case event.TimerFired:
		return applyTimerFired(s, e)
	default:
		return applyWork(p, s, e)
	}
}

// applyWork applies an event of a node.
func applyWork(p *plan.Plan, s *state.State, e event.Event) error {
	switch e.Type {
	case event.NodeStart:
		return applyNodeStart(p, s, e)
	case event.NodeRunStart:
		return applyNodeRunStart(p, s, e)
	case event.NodeComplete:
		return applyNodeComplete(p, s, e)
	case event.ParallelProviderStart:
		return applyBranchStart(p, s, e)
	case event.ParallelProviderComplete, event.ParallelProviderFailed:
		return applyBranchComplete(p, s, e)
	case event.ArtifactWritten:
		if e.Key.Kind() == event.KeySettle {
			return applyDeliverable(p, s, e)
		}
		return applyArtifact(s, e)
	case event.Retry:
		if e.Key.Kind() == event.KeyRestart {
			return applyStageRetry(p, s, e)
		}
		return applyLoop(p, s, e)
	case event.InputChecked:
		return applyInputChecked(p, s, e)
	case event.StepsPlanned:
		return applyStepsPlanned(p, s, e)
	case event.StepStart:
		return applyStepStart(p, s, e)
	case event.StepComplete:
		return applyStepComplete(p, s, e)
	case event.StepBlocked:
		return applyStepBlocked(p, s, e)
	case event.IterationStart, event.AttemptStart, event.AttemptComplete, event.CheckResult, event.IterationComplete, event.Decision, event.StrategyQuestion, event.StrategyAnswer,
		event.ToolCall, event.ToolResult, event.Checkpoint:
		return applyLoop(p, s, e)
	case event.Error:
		if e.Key == "" { // it reports a failure and belongs to no attempt
			return nil
		}
		if n := p.Find(s.At); n != nil && n.Kind == plan.KindPipeline && e.Key.Kind() == event.KeySettle {
			return applyDeliverableError(p, s, e)
		}
		return applyLoop(p, s, e)
	default:
		if e.Critical {
			return fmt.Errorf("event %d (%s) is critical and unknown to scheduler version %d", e.Seq, e.Type, Version)
		}
		return nil
	}
}

// Fold applies events in order from the empty state. Events that do not fit are skipped and returned as one error
// each.
func Fold(p *plan.Plan, events []event.Event) (state.State, []error) {
	var s state.State
	var errs []error
	for _, e := range events {
		next, err := Apply(p, s, e)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		s = next
	}
	return s, errs
}

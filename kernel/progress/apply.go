package progress

import (
	"fmt"

	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/kernel/state"
)

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
		return decode(e, func(d event.SessionStartData) error { return applySessionStart(p, s, e, d) })
	case event.RunStart:
		return decode(e, func(d event.RunStartData) error { return applyRunStart(p, s, e, d) })
	case event.KernelStart:
		return applyKernelStart(p, s, e)
	case event.SessionImported:
		return decode(e, func(d event.SessionImportedData) error { return applyImported(s, e, d) })
	case event.SessionResumed:
		return decode(e, func(d event.SessionResumedData) error { return applyResumed(p, s, e, d) })
	case event.SessionPaused:
		return decode(e, func(d event.SessionPausedData) error { return applyPaused(s, e, d) })
	case event.SessionComplete:
		return decode(e, func(d event.SessionCompleteData) error { return applyComplete(s, e, d) })
	case event.SessionAborted:
		return decode(e, func(d event.SessionAbortedData) error { return applyAborted(s, e, d) })
	case event.Control:
		return decode(e, func(d event.ControlData) error { return applyControl(s, e, d) })
	case event.QuestionAsked:
		return decode(e, func(d event.QuestionAskedData) error { return applyQuestionAsked(s, e, d) })
	case event.QuestionAnswered:
		return decode(e, func(d event.QuestionAnsweredData) error { return applyQuestionAnswered(p, s, e, d) })
	case event.HookStart:
		return decode(e, func(d event.HookStartData) error { return applyHookStart(s, e, d) })
	case event.HookSkipped:
		return decode(e, func(d event.HookSkippedData) error { return applyHookSkipped(s, e, d) })
	case event.HookComplete, event.HookTimeout:
		return decode(e, func(d event.HookCompleteData) error { return applyHookEnd(p, s, e, d) })
	case event.TimerSet:
		return decode(e, func(d event.TimerSetData) error { return applyTimerSet(s, e, d) })
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
		return decode(e, func(d event.NodeCompleteData) error { return applyNodeComplete(p, s, e, d) })
	case event.ParallelProviderStart:
		return applyBranchStart(p, s, e)
	case event.ParallelProviderComplete, event.ParallelProviderFailed:
		return decode(e, func(d event.ProviderCompleteData) error { return applyBranchComplete(p, s, e, d) })
	case event.ArtifactWritten:
		if e.Key.Kind() == event.KeySettle {
			return applyDeliverable(p, s, e)
		}
		return decode(e, func(d event.ArtifactWrittenData) error { return applyArtifact(s, e, d) })
	case event.Retry:
		if e.Key.Kind() == event.KeyRestart {
			return decode(e, func(d event.RetryData) error { return applyStageRetry(p, s, e, d) })
		}
		return applyLoop(p, s, e)
	case event.InputChecked:
		return decode(e, func(d event.InputCheckedData) error { return applyInputChecked(p, s, e, d) })
	case event.StepsPlanned:
		return decode(e, func(d event.StepsPlannedData) error { return applyStepsPlanned(p, s, e, d) })
	case event.StepStart:
		return decode(e, func(d event.StepStartData) error { return applyStepStart(p, s, e, d) })
	case event.StepComplete:
		return decode(e, func(d event.StepCompleteData) error { return applyStepComplete(p, s, e, d) })
	case event.StepBlocked:
		return decode(e, func(d event.StepBlockedData) error { return applyStepBlocked(p, s, e, d) })
	case event.IterationStart, event.AttemptStart, event.AttemptComplete, event.CheckResult, event.IterationComplete, event.Decision, event.StrategyQuestion, event.StrategyAnswer,
		event.ToolCall, event.ToolResult, event.Checkpoint:
		return applyLoop(p, s, e)
	case event.Error:
		if e.Key == "" { // it reports a failure and belongs to no attempt
			return nil
		}
		if n := p.Find(s.At); n != nil && n.Kind == plan.KindPipeline && e.Key.Kind() == event.KeySettle {
			return decode(e, func(d event.FailureData) error { return applyDeliverableError(p, s, e, d) })
		}
		return applyLoop(p, s, e)
	default:
		if e.Critical {
			return fmt.Errorf("event %d (%s) is critical and unknown to scheduler version %d", e.Seq, e.Type, Version)
		}
		return nil
	}
}

// Version is the version of the scheduler's rules; a session keeps the one it was started with.
const Version = 1

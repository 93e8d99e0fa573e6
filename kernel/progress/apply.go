package progress

import (
	"fmt"

	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/kernel/state"
)

// Apply returns the state after the event and leaves s unchanged. Informative events, and unknown events that are not
// critical, change only Seq, and AliveAt in a guarded run. An error wraps [ErrInvalidTransition], or means that this
// version cannot read the event; the returned state is then s.
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
	if applyType, known := appliers[e.Type]; known {
		return applyType(p, s, e)
	}
	if e.Critical {
		return fmt.Errorf("event %d (%s) is critical and unknown to scheduler version %d", e.Seq, e.Type, Version)
	}
	return nil
}

// applier changes a state by an event.
type applier func(p *plan.Plan, s *state.State, e event.Event) error

// appliers maps each type of event that changes the state to its applier.
var appliers = map[event.Type]applier{
	event.SessionStart:             decoded(applySessionStart),
	event.RunStart:                 decoded(applyRunStart),
	event.KernelStart:              decoded(applyKernelStart),
	event.SessionImported:          decoded(applyImported),
	event.SessionResumed:           decoded(applyResumed),
	event.SessionPaused:            decoded(applyPaused),
	event.SessionComplete:          decoded(applyComplete),
	event.SessionAborted:           decoded(applyAborted),
	event.Control:                  decoded(applyControl),
	event.QuestionAsked:            decoded(applyQuestionAsked),
	event.QuestionAnswered:         decoded(applyQuestionAnswered),
	event.HookStart:                decoded(applyHookStart),
	event.HookSkipped:              decoded(applyHookSkipped),
	event.HookComplete:             decoded(applyHookEnd),
	event.HookTimeout:              decoded(applyHookEnd),
	event.TimerSet:                 decoded(applyTimerSet),
	event.TimerFired:               applyTimerFired,
	event.NodeStart:                applyNodeStart,
	event.NodeRunStart:             applyNodeRunStart,
	event.NodeComplete:             decoded(applyNodeComplete),
	event.ParallelProviderStart:    applyBranchStart,
	event.ParallelProviderComplete: decoded(applyBranchComplete),
	event.ParallelProviderFailed:   decoded(applyBranchComplete),
	event.ArtifactWritten:          decoded(applyArtifact),
	event.InputChecked:             decoded(applyInputChecked),
	event.StepsPlanned:             decoded(applyStepsPlanned),
	event.StepStart:                decoded(applyStepStart),
	event.StepComplete:             decoded(applyStepComplete),
	event.StepBlocked:              decoded(applyStepBlocked),
	event.IterationStart:           applyLoop,
	event.AttemptStart:             applyLoop,
	event.AttemptComplete:          applyLoop,
	event.CheckResult:              applyLoop,
	event.IterationComplete:        applyLoop,
	event.Decision:                 applyLoop,
	event.StrategyQuestion:         applyLoop,
	event.StrategyAnswer:           applyLoop,
	event.ToolCall:                 applyLoop,
	event.ToolResult:               applyLoop,
	event.Checkpoint:               applyLoop,
	event.Retry:                    applyRetry,
	event.Error:                    applyError,
}

// decoded returns the applier that calls apply with the decoded data of the event.
func decoded[T any](apply func(p *plan.Plan, s *state.State, e event.Event, d T) error) applier {
	return func(p *plan.Plan, s *state.State, e event.Event) error {
		return decode(e, func(d T) error { return apply(p, s, e, d) })
	}
}

// applyRetry repeats the work of a node, or an attempt of a loop.
func applyRetry(p *plan.Plan, s *state.State, e event.Event) error {
	if e.Key.Kind() == event.KeyRestart {
		return decoded(applyStageRetry)(p, s, e)
	}
	return applyLoop(p, s, e)
}

func applyError(p *plan.Plan, s *state.State, e event.Event) error {
	if e.Key == "" { // the event reports a failure and belongs to no attempt
		return nil
	}
	if n := p.Find(s.At); n != nil && n.Kind == plan.KindPipeline && e.Key.Kind() == event.KeySettle {
		return decoded(applyDeliverableError)(p, s, e)
	}
	return applyLoop(p, s, e)
}

// Version is the version of the scheduler's rules; a session keeps the version that it was started with.
const Version = 1

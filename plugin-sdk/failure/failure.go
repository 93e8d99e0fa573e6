package failure

import (
	"errors"
	"fmt"
)

// Kind is the error_type word of a failure. The words are stable: they stand in error.json, in error
// events and in state.json, and scripts compare them.
type Kind string

// The taxonomy (REQUIREMENTS U099). An unknown word read from a newer plugin is kept as it is and
// treated like [ProviderFailed].
const (
	ProviderTimeout    Kind = "provider_timeout"    // the provider passed its own or the attempt's deadline
	ProviderCrashed    Kind = "provider_crashed"    // the plugin process or the agent CLI ended unexpectedly
	ProviderMissing    Kind = "provider_missing"    // no such plugin, or the CLI it drives is not installed
	ProviderFailed     Kind = "provider_failed"     // the agent ran and reported an error
	PluginInvalid      Kind = "plugin_invalid"      // the binary is no plugin, speaks another protocol or breaks it
	PluginUntrusted    Kind = "plugin_untrusted"    // the plugin does not match the user's lock or trust
	ConfigInvalid      Kind = "config_invalid"      // the plugin refused its configuration
	ResultInvalid      Kind = "result_invalid"      // the agent's result file is not what the schema says
	ResultMissing      Kind = "result_missing"      // the agent wrote no result file
	LockContention     Kind = "lock_contention"     // another kernel holds the session
	SessionState       Kind = "session_state"       // what was asked does not fit how the session stands
	StateCorrupt       Kind = "state_corrupt"       // the journal cannot be written or read
	SignalInterrupt    Kind = "signal_interrupt"    // SIGINT or SIGTERM cut the work off
	IterationTimeout   Kind = "iteration_timeout"   // a stage or run limit was reached
	JudgeFailed        Kind = "judge_failed"        // one call of the judge failed
	JudgeError         Kind = "judge_error"         // the judge failed too often
	StrategyFailed     Kind = "strategy_failed"     // a termination strategy returned an error
	HookFailed         Kind = "hook_failed"         // a hook action failed
	HookTimeout        Kind = "hook_timeout"        // a hook action took longer than it may
	CheckFailed        Kind = "check_failed"        // what was measured is not what it should be
	AgentError         Kind = "agent_error"         // the agent's own result says decision: error
	BudgetExceeded     Kind = "budget_exceeded"     // tokens or cost passed the limit
	StepFailed         Kind = "step_failed"         // a step of a stage failed as often as it was tried
	TurnLimit          Kind = "turn_limit"          // the agent used all its turns for a step
	CycleLimit         Kind = "cycle_limit"         // an edge was taken as often as it may be
	ApprovalRequired   Kind = "approval_required"   // a person has to allow a tool call, and none did or none was there
	ApprovalDenied     Kind = "approval_denied"     // the agent could not go on without a tool call that was denied
	SandboxViolation   Kind = "sandbox_violation"   // the agent insisted on a path or a command that it may not have
	Aborted            Kind = "aborted"             // a person ended the run
	SandboxUnavailable Kind = "sandbox_unavailable" // the isolation asked for does not exist here
	Internal           Kind = "internal"            // a bug of ours: please report it
)

// Retryable reports whether the same attempt may succeed when it is made again: transient causes
// only (REQUIREMENTS U136). It is the default for an [Error] that does not say otherwise.
func (k Kind) Retryable() bool {
	switch k {
	case ProviderTimeout, ProviderCrashed, ProviderFailed, ResultMissing, JudgeFailed:
		return true
	default:
		return false
	}
}

// Code is the stable id that users search for, or "" where the seeds give the kind no code of its
// own (DIALECT B8: a signal has none).
func (k Kind) Code() string {
	switch k {
	case ProviderTimeout, ProviderCrashed, ProviderMissing, ProviderFailed, ResultInvalid, ResultMissing, AgentError:
		return "ACODE-ORCH-001"
	case IterationTimeout:
		return "ACODE-ORCH-002"
	case CycleLimit:
		return "ACODE-ORCH-003"
	case BudgetExceeded:
		return "ACODE-ORCH-005"
	case StateCorrupt:
		return "ACODE-ORCH-006"
	case Aborted:
		return "ACODE-ORCH-007"
	case StepFailed:
		return "ACODE-EXEC-001"
	case TurnLimit:
		return "ACODE-EXEC-003"
	case SandboxViolation:
		return "ACODE-EXEC-004"
	case ApprovalRequired, ApprovalDenied:
		return "ACODE-EXEC-005"
	case PluginInvalid, PluginUntrusted, ConfigInvalid, SandboxUnavailable:
		return "AP-PLUGIN-001"
	case LockContention:
		return "AP-LOCK-001"
	case SessionState:
		return "AP-SESSION-001"
	case JudgeFailed, JudgeError, StrategyFailed:
		return "AP-TERM-001"
	case HookFailed, HookTimeout:
		return "AP-HOOK-001"
	case CheckFailed:
		return "AP-CHECK-001"
	default:
		return ""
	}
}

// Error is a failure with everything its reader needs. It is a value to be filled in and returned
// as a pointer; it is not changed afterwards and therefore safe for concurrent use.
type Error struct {
	// Kind classifies the failure. The zero value is read as [Internal].
	Kind Kind
	// Message says what failed and where, in lower case, without a trailing period.
	Message string
	// Hint says what to do next: a command, a setting, an installation line. May be empty.
	Hint string
	// Retryable says whether making the attempt again can help. [New] sets it from the kind.
	Retryable bool
	// RetryAfterSeconds is what the service asked to wait, 0 if it did not say.
	RetryAfterSeconds float64
	// Detail is longer evidence (the last lines of stderr, say), shown below the message. May be empty.
	Detail string
	// Cause is the wrapped error; it does not cross the wire, its text does.
	Cause error
}

// New returns an Error whose Retryable is the kind's default. The format works as in [fmt.Errorf],
// a %w verb included: the wrapped error becomes Cause.
func New(kind Kind, format string, args ...any) *Error {
	err := fmt.Errorf(format, args...)
	return &Error{Kind: kind, Message: err.Error(), Retryable: kind.Retryable(), Cause: errors.Unwrap(err)}
}

// WithHint returns a copy of e that tells the reader what to do next.
func (e *Error) WithHint(format string, args ...any) *Error {
	c := *e
	c.Hint = fmt.Sprintf(format, args...)
	return &c
}

// WithDetail returns a copy of e that carries longer evidence.
func (e *Error) WithDetail(detail string) *Error {
	c := *e
	c.Detail = detail
	return &c
}

// Error is the message alone; renderers add hint and detail.
func (e *Error) Error() string { return e.Message }

// Unwrap gives the cause to [errors.Is] and [errors.As].
func (e *Error) Unwrap() error { return e.Cause }

// Code is the code of the kind.
func (e *Error) Code() string { return e.Kind.Code() }

// From finds the Error in err's chain, or wraps err as [Internal]. It returns nil for nil.
func From(err error) *Error {
	if err == nil {
		return nil
	}
	var e *Error
	if errors.As(err, &e) {
		return e
	}
	return &Error{Kind: Internal, Message: err.Error(), Cause: err}
}

// KindOf is the kind of the Error in err's chain, [Internal] if there is none, "" for nil.
func KindOf(err error) Kind {
	if err == nil {
		return ""
	}
	return From(err).Kind
}

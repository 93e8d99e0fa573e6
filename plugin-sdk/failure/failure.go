package failure

import (
	"errors"
	"fmt"
	"strings"
	"syscall"
	"unicode"
)

// Kind is the error_type of a failure. Its values are stable: error.json, error events and
// state.json contain them, and scripts compare them.
type Kind string

// The kinds (REQUIREMENTS U099). An unknown kind from a newer plugin is kept. An unknown kind has no code,
// and the plugin's [Error.Retryable] decides about a retry.
const (
	ProviderTimeout    Kind = "provider_timeout"    // the provider exceeded its own or the attempt's deadline
	ProviderCrashed    Kind = "provider_crashed"    // the plugin process or the agent CLI ended unexpectedly
	ProviderMissing    Kind = "provider_missing"    // no such plugin, or its CLI is not installed
	ProviderFailed     Kind = "provider_failed"     // the provider or its agent failed for a reason that no other kind names
	PluginInvalid      Kind = "plugin_invalid"      // the binary is not a plugin, or breaks the protocol
	PluginUntrusted    Kind = "plugin_untrusted"    // the plugin is not trusted, or does not match a lock file
	ConfigInvalid      Kind = "config_invalid"      // a setting or a plugin's configuration is invalid
	ResultInvalid      Kind = "result_invalid"      // the agent's result file does not match the schema
	ResultMissing      Kind = "result_missing"      // the agent wrote no result file
	LockContention     Kind = "lock_contention"     // another kernel holds the session
	SessionState       Kind = "session_state"       // the request is not possible in the session's state
	StateCorrupt       Kind = "state_corrupt"       // the journal or another file of a session cannot be written or read
	Tampered           Kind = "tampered"            // a file that the engine recorded was changed by another program
	DeliveryRefused    Kind = "delivery_refused"    // the project's repository does not allow the delivery mode
	SignalInterrupt    Kind = "signal_interrupt"    // SIGINT or SIGTERM interrupted the work
	IterationTimeout   Kind = "iteration_timeout"   // a stage or run limit was reached
	JudgeFailed        Kind = "judge_failed"        // one call of the judge failed
	JudgeError         Kind = "judge_error"         // the judge failed too many times in a row
	StrategyFailed     Kind = "strategy_failed"     // a termination strategy returned an error
	HookFailed         Kind = "hook_failed"         // a hook action failed
	HookTimeout        Kind = "hook_timeout"        // a hook action exceeded its timeout
	CheckFailed        Kind = "check_failed"        // a measured value is not the expected one
	AgentError         Kind = "agent_error"         // the agent's own result has decision: error
	BudgetExceeded     Kind = "budget_exceeded"     // tokens or cost exceeded the limit
	StepFailed         Kind = "step_failed"         // a step of a stage failed in every attempt
	TurnLimit          Kind = "turn_limit"          // the agent used all its turns for a step
	CycleLimit         Kind = "cycle_limit"         // an edge reached its maximum number of transitions
	ApprovalRequired   Kind = "approval_required"   // a tool call needs the user's approval and has none
	ApprovalDenied     Kind = "approval_denied"     // the agent could not continue without a denied tool call
	SandboxViolation   Kind = "sandbox_violation"   // the agent insisted on a forbidden path or command
	Aborted            Kind = "aborted"             // the user aborted the run
	SandboxUnavailable Kind = "sandbox_unavailable" // the requested isolation is not available here
	Internal           Kind = "internal"            // a bug of this program; please report it
)

// Retryable reports whether a repeated attempt may succeed: only for transient causes (REQUIREMENTS
// U136). [New] sets [Error.Retryable] to the result.
func (k Kind) Retryable() bool {
	switch k {
	case ProviderTimeout, ProviderCrashed, ProviderFailed, ResultMissing, JudgeFailed:
		return true
	default:
		return false
	}
}

// Code returns the stable code that users search for, or "" if the kind has none (DIALECT B8: a
// signal has none).
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
	case Tampered:
		return "AP-TAMPER-001"
	case DeliveryRefused:
		return "AP-DELIVERY-001"
	default:
		return ""
	}
}

// Error is a failure with its hint and evidence. Fill it in and return a pointer; it must not
// change afterwards, and is therefore safe for concurrent use.
type Error struct {
	// Kind classifies the failure. The zero value means [Internal].
	Kind Kind
	// Message states the failure and its place, in lower case, without a trailing period.
	Message string
	// Hint is the user's next step: a command, a setting, an installation. May be empty. [Render] completes the
	// [NextStep] values and options in it.
	Hint string
	// Retryable reports whether a repeated attempt can help. [New] sets it from the kind.
	Retryable bool
	// RetryAfterSeconds is the wait that the service asked for, 0 if none.
	RetryAfterSeconds float64
	// Detail is longer evidence, such as the last lines of stderr, shown below the message. May be
	// empty.
	Detail string
	// Cause is the wrapped error. Only its text crosses the wire.
	Cause error
}

// New returns an Error whose Retryable is the kind's default. The format works as in [fmt.Errorf];
// an error wrapped by %w becomes Cause.
func New(kind Kind, format string, args ...any) *Error {
	err := fmt.Errorf(format, args...)
	return &Error{Kind: kind, Message: err.Error(), Retryable: kind.Retryable(), Cause: errors.Unwrap(err)}
}

// WithHint returns a copy of e with a hint for the user.
func (e *Error) WithHint(format string, args ...any) *Error {
	c := *e
	c.Hint = fmt.Sprintf(format, args...)
	return &c
}

// WithDetail returns a copy of e with longer evidence.
func (e *Error) WithDetail(detail string) *Error {
	c := *e
	c.Detail = detail
	return &c
}

// NextStep is a command that the user can run next. The kernel and the engine do not know the name of the program that
// embeds the engine. String therefore writes a placeholder into texts, which [Render] replaces by the program's name.
type NextStep struct {
	Verb string
	Args []string // as the user types them
}

// Next returns the NextStep with this verb and these arguments.
func Next(verb string, args ...string) NextStep { return NextStep{Verb: verb, Args: args} }

// programPlaceholder stands for the name of the program in a text. It must not occur in other texts and needs no
// escape in JSON.
const programPlaceholder = "⟨program⟩"

// String returns the command line with a placeholder for the program's name.
func (n NextStep) String() string {
	return strings.Join(append([]string{programPlaceholder, n.Verb}, n.Args...), " ")
}

// Command returns the command line of the program.
func (n NextStep) Command(program string) string { return Render(n.String(), program) }

// optionPlaceholder stands before the name of an option in a text.
const optionPlaceholder = "⟨option⟩"

// Option returns the text that names an option, such as "max_cycles", in a hint. The kernel and the engine do not know
// how the user sets it: [Render] writes it as a flag.
func Option(name string) string { return optionPlaceholder + strings.ReplaceAll(name, "_", "-") }

// Render returns a text, or JSON, in which each NextStep is a command line of the program, and each [Option] a flag. If
// the program has no name, a command line begins with the verb, and an option is its name with hyphens.
func Render(text, program string) string {
	if program != "" {
		return strings.ReplaceAll(strings.ReplaceAll(text, programPlaceholder, program), optionPlaceholder, "--")
	}
	return strings.ReplaceAll(strings.ReplaceAll(text, programPlaceholder+" ", ""), optionPlaceholder, "")
}

// Error returns the message alone; renderers add hint and detail.
func (e *Error) Error() string { return e.Message }

// Unwrap returns the cause for [errors.Is] and [errors.As].
func (e *Error) Unwrap() error { return e.Cause }

// Code returns the code of the kind.
func (e *Error) Code() string { return e.Kind.Code() }

// From returns the Error in err's chain, or wraps err as [Internal]. It returns nil for nil.
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

// KindOf returns the kind of the Error in err's chain, [Internal] if there is none, "" for nil.
func KindOf(err error) Kind {
	if err == nil {
		return ""
	}
	return From(err).Kind
}

// remedies are the operating system's errors for exhausted or failing resources, with hints.
var remedies = []struct {
	errno syscall.Errno
	hint  string
}{
	{syscall.ENOSPC, "free some space, then continue"},
	{syscall.EDQUOT, "free some space within your quota, then continue"},
	{syscall.EROFS, "the file system can only be read: mount it for writing, or work elsewhere"},
	{syscall.EIO, "the disk fails: check the system's log, then continue"},
	{syscall.EMFILE, "raise the limit of open files (ulimit -n), then continue"},
	{syscall.ENFILE, "the system has no more files to open: end programs that have many open, then continue"},
	{syscall.ENOMEM, "the system has no more memory: end programs that need much, then continue"},
}

// SystemHint reports whether err's chain contains an error for a resource of the machine: exhausted
// space, descriptors or memory, or a failing or read-only disk. Such an error is not a result of the
// work. The hint is the user's remedy.
//
// SystemHint ignores the texts of errors, so that an error of another process does not count.
func SystemHint(err error) (hint string, yes bool) {
	for _, r := range remedies {
		if errors.Is(err, r.errno) {
			return r.hint, true
		}
	}
	return "", false
}

// maxLine is the largest size of a text of [OneLine], in bytes.
const maxLine = 2048

// OneLine returns a plugin's text as one line of at most 2 KiB, without control characters and marks of direction. It
// cannot look like other output of the program that prints it. A longer text ends in an ellipsis.
func OneLine(s string) string {
	s = strings.Join(strings.FieldsFunc(strings.ToValidUTF8(s, "\uFFFD"), breaksLine), " ")
	if len(s) <= maxLine {
		return s
	}
	return strings.ToValidUTF8(s[:maxLine-len("…")], "") + "…"
}

func breaksLine(r rune) bool {
	return unicode.IsControl(r) || r == '\u2028' || r == '\u2029' || unicode.Is(unicode.Bidi_Control, r)
}

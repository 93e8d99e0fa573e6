package cli

import (
	"cmp"
	"context"
	"errors"
	"os"
	"slices"
	"syscall"

	"github.com/dodo-digital/agent-pipelines/cmd/agent-pipelines/internal/install"
	"github.com/dodo-digital/agent-pipelines/engine"
	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/pluginhost"
	"github.com/dodo-digital/agent-pipelines/kernel/state"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
)

// Exit is an exit code of the process.
type Exit int

// The exit codes keep their meaning in later versions, which may add codes.
const (
	ExitDone       Exit = 0
	ExitFailed     Exit = 1
	ExitUsage      Exit = 2
	ExitConfig     Exit = 3
	ExitQuestion   Exit = 12
	ExitPreflight  Exit = 13
	ExitNoResume   Exit = 14
	ExitTerminal   Exit = 15
	ExitLocked     Exit = 16
	ExitTimeout    Exit = 20
	ExitCycles     Exit = 21
	ExitEscalation Exit = 22
	ExitAborted    Exit = 23
	ExitStep       Exit = 30
	ExitTurns      Exit = 31
	ExitSandbox    Exit = 32
	ExitDenied     Exit = 33
	ExitStepTime   Exit = 34
	ExitDiffers    Exit = 40
	ExitHangup     Exit = 129
	ExitInterrupt  Exit = 130
	ExitTerminate  Exit = 143
)

// Exits is the table that `help exit-codes` prints.
var Exits = []struct {
	Code Exit
	When string
}{
	{ExitDone, "completed; or paused by a hook, a user or for an approval (status shows which)"},
	{ExitFailed, "failed, and no finer code fits; also a loop with judgment or queue that reached its maximum, and a plugin that fails a row of plugins verify"},
	{ExitUsage, "bad arguments"},
	{ExitConfig, "a pipeline or stage does not exist or does not compile, or config.yaml has faults"},
	{ExitQuestion, "a question to the user under non_interactive: fail"},
	{ExitPreflight, "before any work: a plugin, an agent's command, its configuration, the isolation or the delivery mode asked for is missing or refused"},
	{ExitNoResume, "there is nothing to resume, or no such question to be answered"},
	{ExitTerminal, "the session has ended for good"},
	{ExitLocked, "another process runs the session"},
	{ExitTimeout, "a stage or the run passed its time limit"},
	{ExitCycles, "a cycle of stages reached its limit"},
	{ExitEscalation, "paused, because the user is needed, or because a file that the run relies on was changed"},
	{ExitAborted, "aborted"},
	{ExitStep, "a step of a stage failed as often as it was tried"},
	{ExitTurns, "an agent used all its turns for a step"},
	{ExitSandbox, "an agent insisted on a path or a command that it may not have"},
	{ExitDenied, "a tool call was denied, and the agent could not continue without it"},
	{ExitStepTime, "a step of a stage passed its time limit"},
	{ExitDiffers, "crashtest: a killed session differs from the undisturbed one, or left a process; diff --exit-code: the sessions differ"},
	{ExitHangup, "paused by SIGHUP (the terminal was closed); resume continues"},
	{ExitInterrupt, "paused by SIGINT (Ctrl-C); resume continues"},
	{ExitTerminate, "paused by SIGTERM; resume continues"},
}

// ExitFor returns the exit code for an error.
func ExitFor(err error) Exit {
	for _, row := range Sentinels {
		if errors.Is(err, row.is) {
			return row.code
		}
	}
	var usage *BadUsage
	var faults engine.Diagnostics
	var missing *engine.NotFoundError
	var signal *Interrupted
	switch {
	case errors.As(err, &signal):
		return ExitOfSignal(signal.Signal)
	case errors.As(err, &usage):
		return ExitUsage
	case errors.As(err, &faults), errors.As(err, &missing):
		return ExitConfig
	case slices.Contains(preflightKinds, failure.KindOf(err)):
		return ExitPreflight
	default:
		return cmp.Or(kindExits[failure.KindOf(err)], ExitFailed)
	}
}

// Sentinels maps the sentinel errors to their exit codes and to their error_type in JSON.
var Sentinels = []struct {
	is   error
	code Exit
	Word string
}{
	{engine.ErrNothingToResume, ExitNoResume, "nothing_to_resume"},
	{engine.ErrNoQuestion, ExitNoResume, "no_question"},
	{engine.ErrTerminal, ExitTerminal, "terminal_session"},
	{engine.ErrLocked, ExitLocked, string(failure.LockContention)},
	{engine.ErrSessionName, ExitUsage, WordUsage},
	{engine.ErrOptions, ExitUsage, WordUsage},
	{engine.ErrResumable, ExitFailed, "resumable_session"},
	{engine.ErrNoSession, ExitFailed, "no_session"},
	{pluginhost.ErrNoPlugin, ExitUsage, "no_plugin"},
	{ErrNotSet, ExitFailed, "not_set"},
	{errOutput, ExitFailed, "output_lost"},
	{install.ErrInstalled, ExitFailed, "plugin_installed"},
	{context.Canceled, ExitFailed, string(failure.SignalInterrupt)},
}

// kindExits maps failure kinds to their own exit codes.
var kindExits = map[failure.Kind]Exit{
	failure.LockContention:   ExitLocked,
	failure.IterationTimeout: ExitTimeout,
	failure.CycleLimit:       ExitCycles,
	failure.StepFailed:       ExitStep,
	failure.TurnLimit:        ExitTurns,
	failure.Aborted:          ExitAborted,
	failure.SandboxViolation: ExitSandbox,
	failure.ApprovalRequired: ExitQuestion,
	failure.ApprovalDenied:   ExitDenied,
	failure.Tampered:         ExitEscalation,
}

// preflightKinds are faults of plugins and their configuration. Before the work begins they are preflight faults; later they are
// ordinary failures.
var preflightKinds = []failure.Kind{
	failure.ProviderMissing, failure.PluginInvalid, failure.PluginUntrusted, failure.ConfigInvalid,
	failure.SandboxUnavailable, failure.ProviderCrashed, failure.ProviderTimeout, failure.DeliveryRefused,
}

// ExitOfResult returns the exit code for a run that ended or paused. The argument signal is the signal that the
// process received, nil for none.
func ExitOfResult(r *engine.Result, signal os.Signal) Exit {
	switch r.Status {
	case state.Completed:
		if r.Mode == ModeLoop && !r.Success {
			return ExitFailed
		}
		return ExitDone
	case state.Aborted:
		return ExitAborted
	case state.Paused:
		return exitOfPause(r.PauseKind, signal)
	case state.Failed:
		if r.Failure != nil {
			return exitOfFailure(r.Failure)
		}
	}
	return ExitFailed
}

// exitOfFailure returns the exit code for a failed run. A failure in a step has a code of its own unless a more specific
// code exists.
func exitOfFailure(f *event.FailureData) Exit {
	kind := failure.Kind(f.ErrorType)
	code, specific := kindExits[kind]
	switch {
	case f.Step == "":
		return cmp.Or(code, ExitFailed)
	case kind == failure.IterationTimeout, kind == failure.ProviderTimeout:
		return ExitStepTime
	case specific:
		return code
	default:
		return ExitStep
	}
}

func exitOfPause(kind state.PauseKind, signal os.Signal) Exit {
	switch kind {
	case state.PauseSignal:
		return ExitOfSignal(signal)
	case state.PauseEscalation, state.PauseTampered:
		return ExitEscalation
	case state.PauseError:
		return ExitFailed
	default:
		return ExitDone
	}
}

// ExitOfSignal returns the exit code for a run that a signal paused or stopped: as in shells, 128 plus the signal's
// number. A nil signal counts as SIGINT.
func ExitOfSignal(signal os.Signal) Exit {
	if number, ok := signal.(syscall.Signal); ok {
		return Exit(128 + int(number))
	}
	return ExitInterrupt
}

// ModeLoop is the mode of a session that runs a single stage.
const ModeLoop = "loop"

// ReachedMaximum reports whether a loop ended at its maximum of iterations before its termination strategy was satisfied.
func ReachedMaximum(r *engine.Result) bool {
	return r.Status == state.Completed && !r.Success && r.Mode == ModeLoop && r.Reason == "max_iterations"
}

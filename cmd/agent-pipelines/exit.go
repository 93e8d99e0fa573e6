package main

import (
	"context"
	"errors"
	"os"
	"syscall"

	"github.com/dodo-digital/agent-pipelines/engine"
	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/state"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
)

// exit is a code that the process ends with.
type exit int

// The exit codes. Later versions add to them; the meaning of a code does not change.
const (
	exitDone       exit = 0
	exitFailed     exit = 1
	exitUsage      exit = 2
	exitConfig     exit = 3
	exitQuestion   exit = 12
	exitPreflight  exit = 13
	exitNoResume   exit = 14
	exitTerminal   exit = 15
	exitLocked     exit = 16
	exitTimeout    exit = 20
	exitCycles     exit = 21
	exitEscalation exit = 22
	exitAborted    exit = 23
	exitStep       exit = 30
	exitTurns      exit = 31
	exitSandbox    exit = 32
	exitDenied     exit = 33
	exitStepTime   exit = 34
	exitDiffers    exit = 40
	exitHangup     exit = 129
	exitInterrupt  exit = 130
	exitTerminate  exit = 143
)

// exits is the table that `help exit-codes` prints.
var exits = []struct {
	code exit
	when string
}{
	{exitDone, "completed; or paused by a hook, a user or for an approval (status tells which)"},
	{exitFailed, "failed, and no finer code fits; also a loop with judgment or queue that reached its maximum, and a plugin that fails a row of plugins verify"},
	{exitUsage, "bad arguments"},
	{exitConfig, "a pipeline or stage does not exist or does not compile, or config.yaml has faults"},
	{exitQuestion, "a question to a person under non_interactive: fail"},
	{exitPreflight, "before any work: a plugin, an agent's command, its configuration or the isolation asked for is missing or refused"},
	{exitNoResume, "there is nothing to resume, or no such question to be answered"},
	{exitTerminal, "the session has ended for good"},
	{exitLocked, "another process runs the session"},
	{exitTimeout, "a stage or the run passed its time limit"},
	{exitCycles, "a cycle of stages reached its limit"},
	{exitEscalation, "paused, because a person is needed"},
	{exitAborted, "aborted"},
	{exitStep, "a step of a stage failed as often as it was tried"},
	{exitTurns, "an agent used all its turns for a step"},
	{exitSandbox, "an agent insisted on a path or a command that it may not have"},
	{exitDenied, "a tool call was denied, and the agent could not go on without it"},
	{exitStepTime, "a step of a stage passed its time limit"},
	{exitDiffers, "crashtest: a session that was killed came to something else, or left a process; diff --exit-code: the sessions differ"},
	{exitHangup, "paused by SIGHUP (the terminal was closed); resume goes on"},
	{exitInterrupt, "paused by SIGINT (Ctrl-C); resume goes on"},
	{exitTerminate, "paused by SIGTERM; resume goes on"},
}

// exitOf is the code for an error.
func exitOf(err error) exit {
	for _, row := range sentinels {
		if errors.Is(err, row.is) {
			return row.code
		}
	}
	var usage *badUsage
	var faults engine.Diagnostics
	var missing *engine.NotFoundError
	var signal *interrupted
	switch {
	case errors.As(err, &signal):
		return exitOfSignal(signal.signal)
	case errors.As(err, &usage):
		return exitUsage
	case errors.As(err, &faults), errors.As(err, &missing):
		return exitConfig
	default:
		return exitOfKind(failure.KindOf(err), true)
	}
}

// sentinels are the errors that callers of the kernel tell apart, with their codes and the words that
// JSON has for them.
var sentinels = []struct {
	is   error
	code exit
	word string
}{
	{engine.ErrNothingToResume, exitNoResume, "nothing_to_resume"},
	{engine.ErrNoQuestion, exitNoResume, "no_question"},
	{engine.ErrTerminal, exitTerminal, "terminal_session"},
	{engine.ErrLocked, exitLocked, string(failure.LockContention)},
	{engine.ErrSessionName, exitUsage, wordUsage},
	{engine.ErrOptions, exitUsage, wordUsage},
	{engine.ErrResumable, exitFailed, "resumable_session"},
	{engine.ErrNoSession, exitFailed, "no_session"},
	{engine.ErrNoPlugin, exitUsage, "no_plugin"},
	{errNotSet, exitFailed, "not_set"},
	{errOutput, exitFailed, "output_lost"},
	{engine.ErrInstalled, exitFailed, "plugin_installed"},
	{context.Canceled, exitFailed, string(failure.SignalInterrupt)},
}

// exitOfKind is the code for a failure. Before the work begins, faults of plugins and their
// configuration are faults of the preflight; later they are failures like others.
func exitOfKind(kind failure.Kind, before bool) exit {
	switch kind {
	case failure.ProviderMissing, failure.PluginInvalid, failure.PluginUntrusted, failure.ConfigInvalid,
		failure.SandboxUnavailable, failure.ProviderCrashed, failure.ProviderTimeout:
		if before {
			return exitPreflight
		}
		return exitFailed
	case failure.LockContention:
		return exitLocked
	case failure.IterationTimeout:
		return exitTimeout
	case failure.CycleLimit:
		return exitCycles
	case failure.StepFailed:
		return exitStep
	case failure.TurnLimit:
		return exitTurns
	case failure.Aborted:
		return exitAborted
	case failure.SandboxViolation:
		return exitSandbox
	case failure.ApprovalRequired:
		return exitQuestion
	case failure.ApprovalDenied:
		return exitDenied
	default:
		return exitFailed
	}
}

// exitOfResult is the code for a run that ended or waits. The signal is the one that the process
// got, nil for none.
func exitOfResult(r *engine.Result, signal os.Signal) exit {
	switch r.Status {
	case state.Completed:
		if r.Mode == modeLoop && !r.Success {
			return exitFailed
		}
		return exitDone
	case state.Aborted:
		return exitAborted
	case state.Paused:
		return exitOfPause(r.PauseKind, signal)
	case state.Failed:
		if r.Failure != nil {
			return exitOfFailure(r.Failure)
		}
	}
	return exitFailed
}

// exitOfFailure is the code for a failed run. What failed in a step has codes of its own where no finer one fits.
func exitOfFailure(f *event.FailureData) exit {
	code := exitOfKind(failure.Kind(f.ErrorType), false)
	switch {
	case f.Step == "":
		return code
	case code == exitTimeout, failure.Kind(f.ErrorType) == failure.ProviderTimeout:
		return exitStepTime
	case code == exitFailed:
		return exitStep
	default:
		return code
	}
}

func exitOfPause(kind state.PauseKind, signal os.Signal) exit {
	switch kind {
	case state.PauseSignal:
		return exitOfSignal(signal)
	case state.PauseEscalation:
		return exitEscalation
	case state.PauseError:
		return exitFailed
	default:
		return exitDone
	}
}

func exitOfSignal(signal os.Signal) exit {
	switch signal {
	case syscall.SIGTERM:
		return exitTerminate
	case syscall.SIGHUP:
		return exitHangup
	default:
		return exitInterrupt
	}
}

// modeLoop is the mode of a stage that runs alone.
const modeLoop = "loop"

// reachedMaximum says whether a loop ended because no iteration was left, and not because its
// strategy was content.
func reachedMaximum(r *engine.Result) bool {
	return r.Status == state.Completed && !r.Success && r.Mode == modeLoop && r.Reason == "max_iterations"
}

// errNotSet says that no file has a setting.
var errNotSet = errors.New("it is not set")

package cliagent

import (
	"context"
	"errors"
	"fmt"
	"syscall"
	"time"

	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/outcome"
)

// End is the end of a run's process. An End does not state success, which also depends on the agent's
// result.
type End struct {
	// ExitCode is the process's exit code, -1 if a signal ended it.
	ExitCode int
	// Signal is the signal that ended the process, 0 if it exited.
	Signal syscall.Signal
	// StopReason is the reason why Run ended the process, [StopNone] if it did not.
	StopReason StopReason
	// Killed reports whether Run sent SIGKILL, because the process outlived the grace after SIGTERM.
	Killed bool
	// Final reports whether [Command.Line] received the agent's final message or the conversation ended ([Talk]).
	Final bool
	// Stderr is the end of stderr, at most [StderrBytes]. An incomplete first line is omitted if others follow.
	Stderr string
	// Duration is the time from the start of the process until its descendants and its output streams had ended.
	Duration time.Duration
	// Survivors counts processes that outlived SIGKILL; a value other than 0 is a fault of the
	// machine.
	Survivors int

	name  string
	limit time.Duration
	cause error
}

// Clean reports whether the process exited with code 0 or was ended after its work was complete.
func (e End) Clean() bool {
	return e.StopReason == StopLinger || e.StopReason == StopDone || (e.StopReason == StopNone && e.ExitCode == 0)
}

// Interrupted reports whether a deadline or the caller ended the agent before its work was
// complete.
func (e End) Interrupted() bool {
	return e.StopReason == StopCanceled || e.StopReason == StopTimeout || e.StopReason == StopIdle
}

// Failure returns the failure that the end of the process implies, nil if the end is [End.Clean]. The
// failure's detail is Stderr.
func (e End) Failure() *failure.Error {
	var f *failure.Error
	switch {
	case e.Clean():
		return nil
	case e.StopReason == StopCanceled:
		f = interrupted(e.name, e.cause)
	case e.StopReason == StopTimeout:
		f = failure.New(failure.ProviderTimeout, "%s passed its time limit of %s", e.name, e.limit).
			WithHint("raise its time limit or reduce its work, then resume")
	case e.StopReason == StopIdle:
		f = failure.New(failure.ProviderTimeout, "%s was silent for %s and has been ended", e.name, e.limit).
			WithHint("read the end of its stream; raise its idle limit if its commands take that long, then resume")
	default:
		f = failure.New(failure.ProviderCrashed, "%s %s", e.name, e.exitReason()).
			WithHint("read its stderr and its stream, then resume to repeat the attempt")
	}
	return f.WithDetail(e.Stderr)
}

// Process returns the end as evidence for package outcome.
func (e End) Process() *outcome.Process {
	return &outcome.Process{Failure: e.Failure(), Signaled: e.Signal != 0 && !e.Clean()}
}

// exitReason describes the end of a process that Run did not end.
func (e End) exitReason() string {
	switch {
	case e.Signal != 0:
		return fmt.Sprintf("was ended by signal %d (%s)", int(e.Signal), e.Signal)
	case e.ExitCode == 126 || e.ExitCode == 127:
		return fmt.Sprintf("could not start itself or a program that it needs (exit code %d)", e.ExitCode)
	default:
		return fmt.Sprintf("exited with code %d", e.ExitCode)
	}
}

func interrupted(name string, cause error) *failure.Error {
	if errors.Is(cause, context.DeadlineExceeded) {
		return failure.New(failure.ProviderTimeout, "%s passed the deadline of the attempt: %w", name, cause)
	}
	return failure.New(failure.SignalInterrupt, "%s was stopped: %w", name, cause)
}

package cliagent

import (
	"fmt"
	"syscall"
	"time"

	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/outcome"
)

// Cut says why [Run] ended a process that had not ended by itself.
type Cut string

// The reasons. CutLinger and CutDone are no failures: the agent had said its last word, or its work
// was done by [Command.Done], and only the process stayed.
const (
	CutNone     Cut = ""
	CutCanceled Cut = "canceled" // the caller's context ended
	CutTimeout  Cut = "timeout"  // Command.Timeout
	CutIdle     Cut = "idle"     // Command.IdleTimeout
	CutLinger   Cut = "linger"   // Command.Linger, or cancelled after the last word
	CutDone     Cut = "done"     // Command.Done, or another reason when it held already
)

func (c Command) limit(cut Cut) time.Duration {
	switch cut {
	case CutTimeout:
		return c.Timeout
	case CutIdle:
		return c.IdleTimeout
	case CutLinger:
		return c.linger()
	default:
		return 0
	}
}

// End is how a run ended. It says nothing about success: that takes the agent's own word as well.
type End struct {
	// ExitCode is the process's, -1 if a signal ended it.
	ExitCode int
	// Signal ended the process; 0 if it exited.
	Signal syscall.Signal
	// Cut says whether and why Run ended the process.
	Cut Cut
	// Killed: the polite signal was not enough.
	Killed bool
	// Final: the Line callback saw the agent's last word.
	Final bool
	// Stderr is the end of stderr, at most [StderrBytes], whole lines.
	Stderr string
	// Duration is from the start of the process until nothing of it was left.
	Duration time.Duration
	// Survivors counts processes that even SIGKILL did not end; anything but 0 is a fault of the machine.
	Survivors int

	name  string
	limit time.Duration
	cause error
}

// Clean reports whether the process ended well: exit code 0, or put away when its work was over.
func (e End) Clean() bool {
	return e.Cut == CutLinger || e.Cut == CutDone || (e.Cut == CutNone && e.ExitCode == 0)
}

// Interrupted reports whether a deadline or the caller ended the agent before its work was over.
func (e End) Interrupted() bool {
	return e.Cut == CutCanceled || e.Cut == CutTimeout || e.Cut == CutIdle
}

// Failure is the failure that the end of the process alone amounts to, nil where it is [End.Clean].
// Stderr is its detail.
func (e End) Failure() *failure.Error {
	var f *failure.Error
	switch {
	case e.Clean():
		return nil
	case e.Cut == CutCanceled:
		f = interrupted(e.name, e.cause)
	case e.Cut == CutTimeout:
		f = failure.New(failure.ProviderTimeout, "%s passed its time limit of %s", e.name, e.limit).
			WithHint("give it more time or less to do, then resume")
	case e.Cut == CutIdle:
		f = failure.New(failure.ProviderTimeout, "%s was silent for %s and has been ended", e.name, e.limit).
			WithHint("see in its stream what it did last; give it a longer idle limit if its commands take that long, then resume")
	default:
		f = failure.New(failure.ProviderCrashed, "%s %s", e.name, e.how()).
			WithHint("see its last words and its stream, then resume: the attempt is made again")
	}
	return f.WithDetail(e.Stderr)
}

// Process is the end as evidence for package outcome.
func (e End) Process() *outcome.Process {
	return &outcome.Process{Failure: e.Failure(), Signaled: e.Signal != 0 && !e.Clean()}
}

// how the process ended by itself, in words.
func (e End) how() string {
	switch {
	case e.Signal != 0:
		return fmt.Sprintf("was ended by signal %d (%s)", int(e.Signal), e.Signal)
	case e.ExitCode == 126 || e.ExitCode == 127:
		return fmt.Sprintf("could not start itself or a program that it needs (exit code %d)", e.ExitCode)
	default:
		return fmt.Sprintf("exited with code %d", e.ExitCode)
	}
}

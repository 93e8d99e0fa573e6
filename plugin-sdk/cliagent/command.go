package cliagent

import (
	"cmp"
	"io"
	"time"

	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
)

// The defaults of [Command.Grace] and [Command.Linger].
const (
	DefaultGrace  = 5 * time.Second
	DefaultLinger = 10 * time.Second
)

// Command is one run of an agent's command line. [Run] does not change the Command, which can be reused.
type Command struct {
	// Name is the agent's name in messages ("claude").
	Name string
	// Path is the absolute path of the executable; see [Lookup].
	Path string
	// Args are the arguments without the program's name.
	Args []string
	// Dir is the working directory, absolute.
	Dir string
	// Env is the whole environment, see [Environ]. Run adds [CallVariable]. If the call's trace is
	// recorded ([sdk.TraceParent]), Run also sets TRACEPARENT and removes TRACESTATE.
	Env []string
	// Stdin is the prompt. It is written unchanged, then stdin is closed.
	Stdin string
	// Talk, if set, replaces Stdin and holds a conversation with the agent. Default: nil, for
	// agents that get all input at once.
	Talk func(t Talk)

	// Line is called with each line of stdout, in order and never concurrently, with its newline if
	// there is one. Line reports whether the line is the agent's final message. The slice is valid
	// only during the call. Lines over [MaxLineBytes] arrive in pieces. Default: nil, lines are
	// ignored.
	Line func(line []byte) (final bool)
	// Exchange receives stdout as raw chunks and stderr as stderr chunks, byte for byte. May be
	// nil.
	Exchange sdk.Exchange
	// StderrLine is called with each line of stderr, concurrently with Line. Default: nil, lines
	// are ignored.
	StderrLine func(line []byte)

	// Timeout limits the whole run. IdleTimeout limits the time without a byte on stdout or
	// stderr. 0 means no limit.
	Timeout     time.Duration
	IdleTimeout time.Duration
	// Grace is the time between SIGTERM and SIGKILL. Default: [DefaultGrace].
	Grace time.Duration
	// TimeoutGrace replaces Grace after Timeout, but not after IdleTimeout. Default: Grace.
	TimeoutGrace time.Duration
	// GroupTerm sends SIGTERM to the process and its descendants at once. It is for shell scripts:
	// a shell handles a signal only after its current program has ended. Without GroupTerm, only
	// the process gets SIGTERM first, because agents end their tools themselves.
	GroupTerm bool
	// WaitingTime returns the total time that the agent has waited for others, such as a user's answer. It
	// never decreases and counts for neither Timeout nor IdleTimeout. Default: nil, no waiting.
	WaitingTime func() time.Duration
	// Linger is the maximum running time after the agent's final message. Default: [DefaultLinger].
	Linger time.Duration
	// Done detects the end of the agent's work by other means than its final message. Default: nil,
	// none.
	Done *Completion
}

// Talk is the plugin's end of a conversation with an agent over stdin; the agent's messages arrive
// at [Command.Line]. The Talk function runs concurrently with Line. When the function returns,
// stdin is closed, and its return counts as the agent's final message.
type Talk struct {
	// Stdin is the agent's standard input. Writing may block, and fails after the agent has ended.
	Stdin io.Writer
	// Stop is closed when the agent is to end ([StopReason]). The Talk function has half of the grace
	// to end the conversation before SIGTERM is sent.
	Stop <-chan struct{}
	// StdoutEnded is closed at the end of stdout, after Line has received every line.
	StdoutEnded <-chan struct{}
}

// grace returns the time between SIGTERM and SIGKILL for a stop reason.
func (c Command) grace(cut StopReason) time.Duration {
	grace := cmp.Or(c.Grace, DefaultGrace)
	switch cut {
	case StopTimeout:
		return cmp.Or(c.TimeoutGrace, grace)
	case StopDone:
		return cmp.Or(c.Done.Grace, grace)
	default:
		return grace
	}
}

func (c Command) linger() time.Duration { return cmp.Or(c.Linger, DefaultLinger) }

// DefaultCheckInterval is the default interval between the checks of a [Completion].
const DefaultCheckInterval = 15 * time.Second

// minCheckInterval is the minimum of [Completion.Every], which protects the processor from very frequent checks.
const minCheckInterval = 10 * time.Millisecond

// Completion detects the end of the agent's work by other means than its output, because agents have been
// observed to hang after all output. An agent that continues to run is then ended without a failure
// ([StopDone]).
type Completion struct {
	// Reached reports whether the work is complete. Silence is the time since the last byte on stdout or stderr. Calls
	// do not overlap, and end after the first true. After a deadline, Reached is called a last time, so that complete
	// work is not lost.
	//
	// Reached should return immediately, because deadlines wait for it.
	Reached func(silence time.Duration) bool
	// Every is the interval between two calls of Reached. Default: [DefaultCheckInterval].
	Every time.Duration
	// Linger is the time that the process has after Reached returned true to end without a signal.
	// Default: 0, none.
	Linger time.Duration
	// Grace is the time between SIGTERM and SIGKILL after Linger. Default: [Command.Grace].
	Grace time.Duration
}

// ticks returns a channel that ticks when Reached is to be called, and its stop function. A nil Completion
// never ticks.
func (s *Completion) ticks() (<-chan time.Time, func()) {
	if s == nil {
		return nil, func() {}
	}
	t := time.NewTicker(max(cmp.Or(s.Every, DefaultCheckInterval), minCheckInterval))
	return t.C, t.Stop
}

// stopReason returns [StopDone] if the work is already complete, else happened.
func (s *Completion) stopReason(silence time.Duration, happened StopReason) StopReason {
	if s != nil && s.Reached(silence) {
		return StopDone
	}
	return happened
}

// The stop reasons. StopLinger and StopDone are not failures: the work was complete, by the final
// message or by [Command.Done], and only the process remained.
const (
	StopNone     StopReason = ""
	StopCanceled StopReason = "canceled" // the caller's context ended
	StopTimeout  StopReason = "timeout"  // Command.Timeout
	StopIdle     StopReason = "idle"     // Command.IdleTimeout
	StopLinger   StopReason = "linger"   // Command.Linger, or the context ended after the final message
	StopDone     StopReason = "done"     // Command.Done, or another reason when the work was already complete
)

// StopReason is the reason why [Run] ended a process.
type StopReason string

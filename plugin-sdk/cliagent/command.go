package cliagent

import (
	"io"
	"time"

	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
)

// Defaults of a [Command]'s zero values.
const (
	DefaultGrace  = 5 * time.Second
	DefaultLinger = 10 * time.Second
)

// Command is one run of an agent's command line. It is not changed by [Run] and may be used again.
type Command struct {
	// Name is what messages call the agent ("claude").
	Name string
	// Path is the executable, absolute; see [Lookup].
	Path string
	// Args are the arguments without the program's name.
	Args []string
	// Dir is the working directory, absolute.
	Dir string
	// Env is the whole environment, see [Environ]. Nothing is added to it but [CallVariable] and, where the
	// call is part of a trace that somebody records ([sdk.TraceParent]), TRACEPARENT.
	Env []string
	// Stdin is the prompt. It is written as it is, then stdin is closed.
	Stdin string
	// Talk, where it is set, speaks with the agent instead of Stdin being written; nil for agents that get
	// all they need at once.
	Talk func(t Talk)

	// Line is called with each line of stdout, in order and never concurrently, with its newline where
	// it had one; the slice is valid during the call only. It says whether the line is the agent's last
	// word. Lines over [MaxLineBytes] come in pieces. Nil ignores lines.
	Line func(line []byte) (final bool)
	// Exchange gets stdout as raw chunks and stderr as stderr chunks, byte for byte. May be nil.
	Exchange sdk.Exchange
	// StderrLine is called with each line of stderr as Line is with those of stdout, at the same time
	// as Line. Nil ignores them.
	StderrLine func(line []byte)

	// Timeout bounds the whole run, IdleTimeout the time without a byte on stdout or stderr; 0 is none.
	Timeout     time.Duration
	IdleTimeout time.Duration
	// Grace is the time between SIGTERM and SIGKILL. Default [DefaultGrace].
	Grace time.Duration
	// TimeoutGrace is the same where Timeout was the reason. Default Grace.
	TimeoutGrace time.Duration
	// GroupTerm sends SIGTERM to the descendants together with the process. It is for shell scripts:
	// a shell handles a signal only when the program that it waits for has ended. Agents get it alone
	// first, because they end their tools themselves.
	GroupTerm bool
	// Held is how long the agent has had to wait for somebody else so far, a person who is asked, say: that
	// time counts for neither Timeout nor IdleTimeout. It never shrinks. Nil: it never waits.
	Held func() time.Duration
	// Linger is how long the process may stay after the agent's last word. Default [DefaultLinger].
	Linger time.Duration
	// Done is a sign besides the agent's last word that its work is over. Nil: there is none.
	Done *Sign
}

// Talk is the plugin's end of a conversation with an agent over stdin; what the agent says comes by
// [Command.Line]. The function that gets it runs beside Line. When it returns, stdin is closed, and what
// was said counts as the agent's last word.
type Talk struct {
	// Stdin is the agent's. Writing to it may block, and fails once the agent is gone.
	Stdin io.Writer
	// Stop is closed when there is a reason to end the agent ([Cut]). What can be said until half of
	// [Command.Grace] is over is said politely; then comes SIGTERM.
	Stop <-chan struct{}
	// Over is closed when the agent says nothing any more: every line of stdout went through Line.
	Over <-chan struct{}
}

// grace is the time between the signals for a reason.
func (c Command) grace(cut Cut) time.Duration {
	grace := orDefault(c.Grace, DefaultGrace)
	switch cut {
	case CutTimeout:
		return orDefault(c.TimeoutGrace, grace)
	case CutDone:
		return orDefault(c.Done.Grace, grace)
	default:
		return grace
	}
}

func (c Command) linger() time.Duration { return orDefault(c.Linger, DefaultLinger) }

func orDefault(d, otherwise time.Duration) time.Duration {
	if d > 0 {
		return d
	}
	return otherwise
}

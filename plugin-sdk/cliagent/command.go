package cliagent

import (
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
	// Env is the whole environment, see [Environ]. Nothing is added to it but [CallVariable].
	Env []string
	// Stdin is the prompt. It is written as it is, then stdin is closed.
	Stdin string

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
	// Linger is how long the process may stay after the agent's last word. Default [DefaultLinger].
	Linger time.Duration
	// Done is a sign besides the agent's last word that its work is over. Nil: there is none.
	Done *Sign
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

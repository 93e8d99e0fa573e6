package cliagent

import (
	"context"
	"fmt"
	"os"
	"syscall"
	"time"

	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/internal/commands"
)

// Run starts the command and returns when the process and its descendants have ended and both
// streams are read to their end. An error means that the process did not start; [End] describes
// every other end.
//
// A cancelled ctx ends the process as a deadline does. Run is safe for concurrent use.
func Run(ctx context.Context, c Command) (End, error) {
	if err := ctx.Err(); err != nil {
		return End{}, interrupted(c.Name, err)
	}
	begin := time.Now()
	c.Env = withTraceParent(ctx, c.Env)
	p, err := start(c)
	if err != nil {
		return End{}, err
	}
	defer commands.Add(ctx, p.family.root)()
	end := End{name: c.Name, StopReason: p.watch(ctx, c)}
	if end.StopReason != StopNone {
		end.cause = context.Cause(ctx)
		end.limit = c.limit(end.StopReason)
		end.Killed = p.stop(p.endTalk(c, c.grace(end.StopReason)), c.GroupTerm)
	}
	<-p.exited
	end.Survivors = p.sweep()
	p.drain()
	p.goroutines.Wait()
	if end.Survivors > 0 {
		report(c.Exchange, sdk.StreamStderr, fmt.Appendf(nil, "%d processes of %s could not be ended\n", end.Survivors, c.Name))
	}

	end.Duration = time.Since(begin)
	end.Stderr = p.stderr.String()
	end.Final = p.isFinal()
	end.ExitCode, end.Signal = p.cmd.ProcessState.ExitCode(), endSignal(p.cmd.ProcessState)
	return end, nil
}

// endSignal returns the signal that ended a process, 0 if none did or Wait failed.
func endSignal(state *os.ProcessState) syscall.Signal {
	if state == nil {
		return 0
	}
	if ws, ok := state.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
		return ws.Signal()
	}
	return 0
}

func (c Command) limit(cut StopReason) time.Duration {
	switch cut {
	case StopTimeout:
		return c.Timeout
	case StopIdle:
		return c.IdleTimeout
	case StopLinger:
		return c.linger()
	default:
		return 0
	}
}

package mock

import (
	"context"
	"errors"
	"time"

	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
)

// pause waits for d. An earlier end of the call is an error.
func (f Fault) pause(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return nil
	}
	if f.IgnoreCancel {
		<-time.After(d)
		return nil
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return cancelled(ctx)
	}
}

// hang waits for the end of the call; with IgnoreCancel it never returns.
func (f Fault) hang(ctx context.Context) error {
	if f.IgnoreCancel {
		select {}
	}
	<-ctx.Done()
	return cancelled(ctx)
}

// cancelled returns the reason why a call ended early: a limit of the mock, which is the context's cause, or a
// cancellation by the kernel.
func cancelled(ctx context.Context) error {
	if cause := new(failure.Error); errors.As(context.Cause(ctx), &cause) {
		return cause
	}
	return failure.New(failure.SignalInterrupt, "mock: cancelled: %w", ctx.Err())
}

func milliseconds(n int) time.Duration { return time.Duration(n) * time.Millisecond }

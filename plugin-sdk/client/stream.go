package client

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
	pb "github.com/dodo-digital/agent-pipelines/plugin-sdk/internal/wire/pluginv1"
)

// receive passes the stream's messages to events. No other goroutine reads from the stream.
func (a *attempt) receive() {
	for {
		event, err := a.stream.Recv()
		select {
		case a.events <- streamMessage{event, err}:
		case <-a.tornDown:
			return
		}
		if err != nil {
			return
		}
	}
}

// post sends a message without waiting for a plugin that does not read.
func (a *attempt) post(m *pb.ExecuteInput) {
	a.workers.Go(func() {
		a.sending.Lock()
		defer a.sending.Unlock()
		if !a.closed {
			_ = a.stream.Send(m) // the receiver gets the reason of an error
		}
	})
}

// closeStream closes the client's side and waits at most [closeTimeout] for the plugin to close its
// side. It ignores further messages, such as a second result.
func (a *attempt) closeStream() {
	a.workers.Go(func() {
		a.sending.Lock()
		defer a.sending.Unlock()
		a.closed = true
		_ = a.stream.CloseSend()
	})
	timer := time.NewTimer(closeTimeout)
	defer timer.Stop()
	for {
		select {
		case r := <-a.events:
			if r.err != nil {
				return
			}
		case <-timer.C:
			return
		}
	}
}

// endedError returns the error for a stream that ended without a result.
func (a *attempt) endedError(ctx context.Context, err error) error {
	if errors.Is(err, io.EOF) {
		return withContextError(ctx, failure.New(failure.PluginInvalid, "%s: the plugin closed the attempt without a result", a.label).
			WithHint("this is a bug in the plugin; see docs/plugin-protocol.md"))
	}
	return withContextError(ctx, connectionError(a.label, err))
}

// ErrUnfinished is in the chain of the error of an attempt for which the plugin sent no result: it is silent, ignored a
// cancellation, or ended the stream. It may still work on the attempt: end its process before the next attempt.
var ErrUnfinished = errors.New("the plugin sent no result")

// unfinished adds [ErrUnfinished] to an error without changing its text.
type unfinished struct{ error }

func (u unfinished) Unwrap() []error { return []error{u.error, ErrUnfinished} }

// silentError returns the error for a plugin that sends nothing, not even heartbeats.
func (a *attempt) silentError(ctx context.Context) error {
	return withContextError(ctx, failure.New(failure.ProviderCrashed, "%s: plugin stopped responding, no message for %s", a.label, a.silence).
		WithHint("its process hangs or is stopped; the next attempt starts another one"))
}

// stubbornError returns the error for an attempt that did not end after its cancellation.
func (a *attempt) stubbornError(ctx context.Context) error {
	return withContextError(ctx, failure.New(failure.ProviderTimeout, "%s: the plugin did not end the attempt within %s of being cancelled", a.label, a.patience))
}

// withContextError adds the error of the caller's context, if it has ended, to a failure, for errors.Is.
func withContextError(ctx context.Context, f *failure.Error) error {
	if ctx.Err() == nil {
		return f
	}
	c := *f
	c.Cause = context.Cause(ctx)
	if c.Cause != ctx.Err() { //nolint:errorlint // a custom cause does not contain the context's error
		c.Cause = fmt.Errorf("%w: %w", ctx.Err(), c.Cause)
	}
	return &c
}

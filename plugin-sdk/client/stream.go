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

// send is the one goroutine that writes to the stream.
func (a *attempt) send() {
	for {
		select {
		case m := <-a.out:
			if a.stream.Send(m) != nil {
				return // the receiver learns why
			}
		case <-a.done:
			_ = a.stream.CloseSend()
			return
		case <-a.torn:
			return
		}
	}
}

// receive is the one goroutine that reads from the stream.
func (a *attempt) receive() {
	for {
		event, err := a.stream.Recv()
		select {
		case a.events <- received{event, err}:
		case <-a.torn:
			return
		}
		if err != nil {
			return
		}
	}
}

// post hands a message to the sender without waiting for a plugin that does not read.
func (a *attempt) post(m *pb.ExecuteInput) {
	a.workers.Go(func() {
		select {
		case a.out <- m:
		case <-a.done:
		case <-a.torn:
		}
	})
}

// sayGoodbye closes our side and gives the plugin a moment to close its own. What it still says, a
// second result too, is ignored.
func (a *attempt) sayGoodbye() {
	close(a.done)
	timer := time.NewTimer(farewell)
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

// ended explains a stream that ended without a result.
func (a *attempt) ended(ctx context.Context, err error) error {
	if errors.Is(err, io.EOF) {
		return caused(ctx, failure.New(failure.PluginInvalid, "%s: the plugin closed the attempt without a result", a.what).
			WithHint("this is a bug in the plugin; see docs/plugin-protocol.md"))
	}
	return caused(ctx, broken(a.what, err))
}

// silent explains a plugin from which nothing comes, not even heartbeats.
func (a *attempt) silent(ctx context.Context) error {
	return caused(ctx, failure.New(failure.ProviderCrashed, "%s: plugin stopped responding, no message for %s", a.what, a.idle).
		WithHint("its process hangs or is stopped; the next attempt starts another one"))
}

// stubborn explains an attempt that did not end when it was cancelled.
func (a *attempt) stubborn(ctx context.Context) error {
	return caused(ctx, failure.New(failure.ProviderTimeout, "%s: the plugin did not end the attempt within %s of being cancelled", a.what, a.patience))
}

// caused lets errors.Is find the end of the caller's context in a failure that followed from it.
func caused(ctx context.Context, f *failure.Error) error {
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

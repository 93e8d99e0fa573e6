package serve

import (
	"context"
	"errors"
	"io"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/internal/wire"
	pb "github.com/dodo-digital/agent-pipelines/plugin-sdk/internal/wire/pluginv1"
)

type executor = func(context.Context, sdk.ExecuteRequest, sdk.Exchange) (sdk.ExecuteResult, error)

// attemptOn runs one attempt of a provider that calls execute.
func attemptOn(t *testing.T, execute executor, opts ...Option) attempt {
	t.Helper()
	conn, _ := start(t, newPlugin(&fakeProvider{execute: execute}), opts...)
	return begin(t, conn, sdk.ExecuteRequest{Prompt: "prompt"})
}

func TestResults(t *testing.T) {
	why := failure.New(failure.ProviderMissing, "no such command").WithHint("install it")
	tests := map[string]struct {
		result sdk.ExecuteResult
		err    error
		want   sdk.ExecuteResult
	}{
		"success by default": {
			sdk.ExecuteResult{Output: "text"},
			nil,
			sdk.ExecuteResult{Output: "text", Outcome: sdk.OutcomeSucceeded},
		},
		"failure by default": {
			sdk.ExecuteResult{Output: "half"},
			why,
			sdk.ExecuteResult{Output: "half", Outcome: sdk.OutcomeFailed, Error: strip(why)},
		},
		"outcome beside an error": {
			sdk.ExecuteResult{Outcome: sdk.OutcomeRateLimited},
			why,
			sdk.ExecuteResult{Outcome: sdk.OutcomeRateLimited, Error: strip(why)},
		},
		"error in the result": {
			sdk.ExecuteResult{Error: why},
			nil,
			sdk.ExecuteResult{Outcome: sdk.OutcomeFailed, Error: strip(why)},
		},
		"plain error": {
			sdk.ExecuteResult{},
			errors.New("it broke"),
			sdk.ExecuteResult{Outcome: sdk.OutcomeFailed, Error: strip(failure.New(failure.ProviderFailed, "it broke"))},
		},
		"wrapped failure": {
			sdk.ExecuteResult{},
			errors.Join(errors.New("while talking"), failure.New(failure.ProviderMissing, "no command")),
			sdk.ExecuteResult{Outcome: sdk.OutcomeFailed, Error: strip(failure.New(failure.ProviderMissing, "while talking no command"))},
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			a := attemptOn(t, func(context.Context, sdk.ExecuteRequest, sdk.Exchange) (sdk.ExecuteResult, error) {
				return tt.result, tt.err
			})
			compare(t, tt.want, a.result())
			if _, err := a.stream.Recv(); !errors.Is(err, io.EOF) {
				t.Errorf("after the result: got %v, want the end of the stream", err)
			}
		})
	}
}

// strip returns a failure as it is received: without its cause.
func strip(f *failure.Error) *failure.Error {
	c := *f
	c.Cause = nil
	return &c
}

func TestPanicIsAFailure(t *testing.T) {
	var calls atomic.Int32
	conn, _ := start(t, newPlugin(&fakeProvider{execute: func(context.Context, sdk.ExecuteRequest, sdk.Exchange) (sdk.ExecuteResult, error) {
		if calls.Add(1) == 1 {
			panic("oh no")
		}
		return sdk.ExecuteResult{Output: "still here"}, nil
	}}))
	got := begin(t, conn, sdk.ExecuteRequest{}).result()
	if got.Error.Kind != failure.Internal || !strings.Contains(got.Error.Message, "oh no") || got.Error.Retryable {
		t.Errorf("got %+v", got.Error)
	}
	if !strings.Contains(got.Error.Detail, "execute_test.go") {
		t.Errorf("the detail has no stack:\n%s", got.Error.Detail)
	}
	if got := begin(t, conn, sdk.ExecuteRequest{}).result(); got.Output != "still here" {
		t.Errorf("after a panic: %+v", got)
	}
}

func TestUnknownComponent(t *testing.T) {
	conn, _ := start(t, newPlugin(&fakeProvider{}))
	stream := must(pb.NewProviderClient(conn).Execute(t.Context()))
	a := attempt{t, stream}
	ref := wire.Ref{Kind: sdk.KindProvider, Name: "other"}
	a.send(&pb.ExecuteInput{Input: &pb.ExecuteInput_Start{Start: wire.Request[pb.ExecuteStart](ref, sdk.ExecuteRequest{})}})
	got := a.result().Error
	if got.Kind != failure.PluginInvalid || !strings.Contains(got.Message, `no provider "other"`) {
		t.Errorf("got %v", got)
	}
}

func TestAttemptWithoutStart(t *testing.T) {
	conn, _ := start(t, newPlugin(&fakeProvider{}))
	stream := must(pb.NewProviderClient(conn).Execute(t.Context()))
	check(t, stream.CloseSend())
	if _, err := stream.Recv(); status.Code(err) != codes.InvalidArgument {
		t.Errorf("got %v, want InvalidArgument", err)
	}
}

func TestHeartbeats(t *testing.T) {
	enough := make(chan struct{})
	a := attemptOn(t, func(context.Context, sdk.ExecuteRequest, sdk.Exchange) (sdk.ExecuteResult, error) {
		<-enough
		return sdk.ExecuteResult{}, nil
	}, Heartbeat(time.Millisecond))
	for range 3 {
		m, err := a.stream.Recv()
		if err != nil || m.GetHeartbeat() == nil {
			t.Fatalf("got %v, %v, want a heartbeat", m, err)
		}
	}
	close(enough)
	a.result()
}

func TestCancelReachesTheProvider(t *testing.T) {
	a := attemptOn(t, func(ctx context.Context, _ sdk.ExecuteRequest, _ sdk.Exchange) (sdk.ExecuteResult, error) {
		<-ctx.Done()
		return sdk.ExecuteResult{Output: "half"}, ctx.Err()
	})
	a.cancel("the stage is over")
	got := a.result()
	if got.Output != "half" || !strings.Contains(got.Error.Message, "cancelled by the kernel: the stage is over") {
		t.Errorf("got %+v, %v", got, got.Error)
	}
}

func TestTimeLimitCancelsProvider(t *testing.T) {
	conn, _ := start(t, newPlugin(&fakeProvider{execute: func(ctx context.Context, _ sdk.ExecuteRequest, _ sdk.Exchange) (sdk.ExecuteResult, error) {
		<-ctx.Done()
		return sdk.ExecuteResult{}, ctx.Err()
	}}))
	a := begin(t, conn, sdk.ExecuteRequest{Timeout: time.Millisecond, Grace: time.Millisecond})
	if got := a.result().Error; got.Kind != failure.ProviderTimeout {
		t.Errorf("got %v", got)
	}
}

func TestLostConnectionCancels(t *testing.T) {
	ended := make(chan error, 1)
	working := make(chan struct{})
	conn, _ := start(t, newPlugin(&fakeProvider{execute: func(ctx context.Context, _ sdk.ExecuteRequest, _ sdk.Exchange) (sdk.ExecuteResult, error) {
		close(working)
		<-ctx.Done()
		ended <- ctx.Err()
		return sdk.ExecuteResult{}, ctx.Err()
	}}))
	begin(t, conn, sdk.ExecuteRequest{})
	<-working
	check(t, conn.Close())
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

func TestSerialProviderWorksInTurn(t *testing.T) {
	var at, most atomic.Int32
	p := &fakeProvider{
		component: sdk.Component{Name: "fake", Concurrency: sdk.ConcurrencySerial},
		execute: func(context.Context, sdk.ExecuteRequest, sdk.Exchange) (sdk.ExecuteResult, error) {
			most.Store(max(most.Load(), at.Add(1)))
			time.Sleep(5 * time.Millisecond) // time for another call to overlap
			at.Add(-1)
			return sdk.ExecuteResult{}, nil
		},
	}
	conn, _ := start(t, newPlugin(p))
	var attempts sync.WaitGroup
	for range 4 {
		a := begin(t, conn, sdk.ExecuteRequest{})
		attempts.Go(func() { a.result() })
	}
	attempts.Wait()
	if most.Load() != 1 {
		t.Errorf("%d calls at once", most.Load())
	}
}

func TestOutputOverTheLimit(t *testing.T) {
	a := attemptOn(t, func(context.Context, sdk.ExecuteRequest, sdk.Exchange) (sdk.ExecuteResult, error) {
		return sdk.ExecuteResult{Output: strings.Repeat("x", wire.MaxMessage), Model: "m"}, nil
	})
	got := a.result()
	if got.Outcome != sdk.OutcomeFailed || got.Model != "m" || !strings.Contains(got.Error.Message, "limit of 64 MiB") {
		t.Errorf("got outcome %s, model %s, %v", got.Outcome, got.Model, got.Error)
	}
}

func TestCloseCancelsAndWaits(t *testing.T) {
	var left atomic.Bool
	working := make(chan struct{})
	conn, server := start(t, newPlugin(&fakeProvider{execute: func(ctx context.Context, _ sdk.ExecuteRequest, _ sdk.Exchange) (sdk.ExecuteResult, error) {
		close(working)
		<-ctx.Done()
		left.Store(true)
		return sdk.ExecuteResult{}, ctx.Err()
	}}))
	begin(t, conn, sdk.ExecuteRequest{})
	<-working
	server.Close()
	if !left.Load() {
		t.Error("close returned before the provider did")
	}
	if err := server.server.unary(t.Context(), server.server.components[0], nil); err == nil {
		t.Error("a call began after the close")
	}
}

func TestCloseAbandonsStubbornComponents(t *testing.T) {
	release := make(chan struct{})
	working := make(chan struct{})
	p := &fakeProvider{
		execute: func(context.Context, sdk.ExecuteRequest, sdk.Exchange) (sdk.ExecuteResult, error) {
			close(working)
			<-release
			return sdk.ExecuteResult{}, nil
		},
		shutdown: func(context.Context) error { <-release; return nil },
	}
	conn, server := start(t, newPlugin(p), Grace(time.Millisecond))
	begin(t, conn, sdk.ExecuteRequest{})
	<-working
	server.Close() // the test hangs if this does not return
	close(release)
	server.server.calls.running.Wait()
	server.server.closing.Wait()
}

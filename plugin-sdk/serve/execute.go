package serve

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/internal/wire"
	pb "github.com/dodo-digital/agent-pipelines/plugin-sdk/internal/wire/pluginv1"
)

// providerService answers for the providers.
type providerService struct {
	pb.UnimplementedProviderServer
	server *server
}

// defaultGrace is an attempt's when the request names none.
const defaultGrace = 5 * time.Second

// Execute is one attempt: the start, the conversation, the result.
func (s *providerService) Execute(stream pb.Provider_ExecuteServer) error {
	start, err := awaitStart(stream)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancelCause(wire.Incoming(stream.Context()))
	defer cancel(nil)
	done, err := s.server.calls.begin(cancel)
	if err != nil {
		return status.Error(codes.Unavailable, err.Error())
	}
	defer done()
	x := newExchange(stream, cancel)
	stopBeating := x.beat(s.server.heartbeat)
	s.server.listen(x)

	result := s.server.execute(ctx, start, x)

	stopBeating()
	return x.finish(result) // the stream ends with it: what the kernel still says is for nobody
}

// awaitStart reads the first message that is a start; others before it are ignored, as all unknown
// messages are.
func awaitStart(stream pb.Provider_ExecuteServer) (*pb.ExecuteStart, error) {
	for {
		m, err := stream.Recv()
		if err != nil {
			return nil, status.Errorf(codes.InvalidArgument, "the attempt ended before its start message: %v", err)
		}
		if start := m.GetStart(); start != nil {
			return start, nil
		}
	}
}

// listen takes what the kernel says until it has no more to say, or the stream has ended. The goroutine is waited for
// with the calls of the server.
func (s *server) listen(x *exchange) { s.calls.running.Go(x.listen) }

// execute runs the provider and makes its end into a result.
func (s *server) execute(ctx context.Context, start *pb.ExecuteStart, x *exchange) *pb.ExecuteResult {
	c, err := s.find(start.GetComponent())
	if err != nil {
		return wire.ResultPB(sdk.ExecuteResult{Outcome: sdk.OutcomeFailed, Error: failure.From(err)})
	}
	var result sdk.ExecuteResult
	request := wire.FromStart(start)
	ctx, cancel := limited(ctx, request)
	defer cancel()
	err = c.call(ctx, func() (err error) {
		result, err = c.impl.(sdk.Provider).Execute(ctx, request, x)
		return err
	})
	if err != nil {
		result.Error = c.failureOf(explain(ctx, err))
	}
	result.Outcome = cmp.Or(result.Outcome, outcomeOf(result.Error))
	return withinLimit(wire.ResultPB(result))
}

// limited ends the context of an attempt that has outlived its time limit by its grace: by then a provider
// that keeps the time itself has ended its agent in its own way.
func limited(ctx context.Context, req sdk.ExecuteRequest) (context.Context, context.CancelFunc) {
	if req.Timeout <= 0 {
		return ctx, func() {}
	}
	return context.WithTimeoutCause(ctx, req.Timeout+cmp.Or(req.Grace, defaultGrace),
		failure.New(failure.ProviderTimeout, "the attempt passed its time limit of %s", req.Timeout))
}

// outcomeOf is what a provider means that leaves the outcome open.
func outcomeOf(f *failure.Error) sdk.Outcome {
	if f == nil {
		return sdk.OutcomeSucceeded
	}
	return sdk.OutcomeFailed
}

// withinLimit drops an output that no message can hold and says so.
func withinLimit(m *pb.ExecuteResult) *pb.ExecuteResult {
	if proto.Size(resultEvent(m)) <= wire.MaxMessage {
		return m
	}
	size := len(m.GetOutput())
	m.Output = nil
	m.Outcome = pb.Outcome_OUTCOME_FAILED
	m.Failure = wire.FailurePB(tooLarge("the output", size))
	return m
}

// tooLarge names the limit and the way around it.
func tooLarge(what string, size int) *failure.Error {
	f := failure.New(failure.ProviderFailed, "%s of %d bytes is over the protocol's limit of %d MiB", what, size, wire.MaxMessage>>20)
	f.Retryable = false
	return f.WithHint("write it to a file in the attempt's directory (Paths.Attempt) and name the file")
}

func resultEvent(m *pb.ExecuteResult) *pb.ExecuteEvent {
	return &pb.ExecuteEvent{Event: &pb.ExecuteEvent_Result{Result: m}}
}

// errClosed ends calls that wait when the kernel has no more to say.
var errClosed = errors.New("the kernel closed its side of the attempt")

// explain replaces a bare "context canceled" by the reason for it.
func explain(ctx context.Context, err error) error {
	if err == ctx.Err() { //nolint:errorlint // only the bare one says nothing
		return context.Cause(ctx)
	}
	return err
}

// cancelled is the cause of a context that the kernel cancelled.
func cancelled(reason string) error {
	return fmt.Errorf("cancelled by the kernel: %s: %w", cmp.Or(reason, "no reason given"), context.Canceled)
}

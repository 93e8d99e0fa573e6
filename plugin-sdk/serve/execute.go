package serve

import (
	"cmp"
	"context"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/internal/wire"
	pb "github.com/dodo-digital/agent-pipelines/plugin-sdk/internal/wire/pluginv1"
)

// providerService serves the providers.
type providerService struct {
	pb.UnimplementedProviderServer
	server *server
}

// defaultGrace is the grace of a request without one.
const defaultGrace = 5 * time.Second

// Execute implements one attempt: the start, the conversation, the result.
func (s *providerService) Execute(stream pb.Provider_ExecuteServer) error {
	start, err := awaitStart(stream)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancelCause(s.server.calls.groups.Context(wire.Incoming(stream.Context())))
	defer cancel(nil)
	done, err := s.server.calls.begin(cancel)
	if err != nil {
		return status.Error(codes.Unavailable, err.Error())
	}
	defer done()
	x := newExchange(stream, cancel)
	stopHeartbeats := x.sendHeartbeats(s.server.heartbeat)
	s.server.listen(x)

	result := s.server.execute(ctx, start, x)

	stopHeartbeats()
	return x.finish(result) // the result ends the stream; later messages of the kernel are ignored
}

// awaitStart reads up to the first start message. It ignores earlier messages.
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

// listen receives the kernel's messages until the stream ends. The server waits for the goroutine
// as for a call.
func (s *server) listen(x *exchange) { s.calls.running.Go(x.listen) }

// execute runs the provider and returns its result.
func (s *server) execute(ctx context.Context, start *pb.ExecuteStart, x *exchange) *pb.ExecuteResult {
	c, err := s.find(start.GetComponent())
	if err != nil {
		return wire.ResultPB(sdk.ExecuteResult{Outcome: sdk.OutcomeFailed, Error: failure.From(err)})
	}
	var result sdk.ExecuteResult
	request := wire.Decode[sdk.ExecuteRequest](start)
	ctx, cancel := withDeadline(ctx, request)
	defer cancel()
	err = c.call(ctx, func() (err error) {
		result, err = c.impl.(sdk.Provider).Execute(ctx, request, x)
		return err
	})
	if err != nil {
		result.Error = c.toFailure(explain(ctx, err))
	}
	result.Outcome = cmp.Or(result.Outcome, defaultOutcome(result.Error))
	return withinLimit(wire.ResultPB(result))
}

// withDeadline ends the context after the attempt's time limit plus its grace. By then a provider that
// enforces the limit itself has ended its agent.
func withDeadline(ctx context.Context, req sdk.ExecuteRequest) (context.Context, context.CancelFunc) {
	if req.Timeout <= 0 {
		return ctx, func() {}
	}
	return context.WithTimeoutCause(ctx, req.Timeout+cmp.Or(req.Grace, defaultGrace),
		failure.New(failure.ProviderTimeout, "the attempt passed its time limit of %s", req.Timeout))
}

// defaultOutcome returns the default outcome of a provider that sets none.
func defaultOutcome(f *failure.Error) sdk.Outcome {
	if f == nil {
		return sdk.OutcomeSucceeded
	}
	return sdk.OutcomeFailed
}

// withinLimit replaces an output over the message limit by a failure.
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

// explain replaces a plain context error by its cause.
func explain(ctx context.Context, err error) error {
	if err == ctx.Err() { //nolint:errorlint // a wrapped error explains itself
		return context.Cause(ctx)
	}
	return err
}

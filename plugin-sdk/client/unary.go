package client

import (
	"context"
	"fmt"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/internal/wire"
)

// unary makes one call with its own deadline; limit 0 leaves the deadline to the caller's context.
func unary[Req proto.Message, Res any](
	ctx context.Context, method string, limit time.Duration,
	call func(context.Context, Req, ...grpc.CallOption) (Res, error), request Req,
) (Res, error) {
	var none Res
	if err := checkSize(method, request); err != nil {
		return none, err
	}
	callCtx := ctx
	if limit > 0 {
		var cancel context.CancelFunc
		callCtx, cancel = context.WithTimeout(ctx, limit)
		defer cancel()
	}
	response, err := call(callCtx, request)
	switch {
	case err == nil:
		return response, nil
	case ctx.Err() != nil:
		return none, fmt.Errorf("%s: %w", method, context.Cause(ctx))
	case status.Code(err) != codes.DeadlineExceeded:
		return none, connectionError(method, err)
	case sameDeadline(ctx, callCtx):
		return none, fmt.Errorf("%s: %w", method, context.DeadlineExceeded)
	default:
		return none, failure.New(failure.ProviderTimeout, "the plugin did not answer %s within %s", method, limit).
			WithHint("a plugin that hangs is replaced by the next attempt; its log may show the reason")
	}
}

// sameDeadline reports whether the call met the caller's deadline, not its own. The plugin may
// notice the deadline slightly before the client.
func sameDeadline(ctx, callCtx context.Context) bool {
	own, ok := ctx.Deadline()
	limited, _ := callCtx.Deadline()
	return ok && own.Equal(limited)
}

// checkSize returns an error for a message over the plugin protocol's limit.
func checkSize(method string, m proto.Message) error {
	size := proto.Size(m)
	if size <= wire.MaxMessage {
		return nil
	}
	f := failure.New(failure.ProviderFailed, "%s: the request has %d bytes and the plugin protocol's limit is %d MiB",
		method, size, wire.MaxMessage>>20)
	f.Retryable = false
	return f.WithHint("hand over large material as a file and name it in the prompt")
}

// connectionError converts a gRPC error, which always means a broken connection or protocol: failures of
// components are part of responses.
func connectionError(method string, err error) *failure.Error {
	s := status.Convert(err)
	text := failure.OneLine(s.Message())
	switch s.Code() {
	case codes.ResourceExhausted:
		return failure.New(failure.PluginInvalid, "%s: a message of the plugin is over the protocol's limit of %d MiB: %s",
			method, wire.MaxMessage>>20, text).WithHint("the plugin must hand over large material as a file")
	case codes.Unimplemented:
		return failure.New(failure.PluginInvalid, "%s: the plugin does not serve this call: %s", method, text).
			WithHint("the plugin may be built for another protocol version; `%s` shows it", failure.Next("plugins", "info"))
	case codes.InvalidArgument, codes.NotFound, codes.FailedPrecondition, codes.PermissionDenied, codes.Unauthenticated:
		return failure.New(failure.PluginInvalid, "%s: the plugin refused the call: %s", method, text)
	default:
		f := failure.New(failure.ProviderCrashed, "%s: the connection to the plugin broke: %s", method, text).
			WithHint("the plugin process ended or failed inside; its log says more")
		f.Cause = err
		return f
	}
}

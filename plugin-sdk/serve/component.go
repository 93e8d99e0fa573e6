package serve

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"

	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"

	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/internal/wire"
	pb "github.com/dodo-digital/agent-pipelines/plugin-sdk/internal/wire/pluginv1"
)

// component is one served component. It serializes calls where needed and recovers panics.
type component struct {
	ref  wire.Ref
	impl any
	turn chan struct{} // holds one token during a call of a serial component; nil for safe ones
}

// call makes one call on the component. It waits for its turn if the component is serial, and recovers panics.
func (c *component) call(ctx context.Context, work func() error) error {
	if c.turn != nil {
		select {
		case c.turn <- struct{}{}:
			defer func() { <-c.turn }()
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return c.guard(work)
}

// guard turns a panic into a failure, so that only one call fails. A panic in a goroutine of the
// component cannot be recovered.
func (c *component) guard(work func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = failure.New(failure.Internal, "%s %s panicked: %v", c.ref.Kind, c.ref.Name, p).
				WithHint("this is a bug in the plugin; report it to its author with the detail").
				WithDetail(string(debug.Stack()))
		}
	}()
	return work()
}

// toFailure converts an error of the component to a *failure.Error. An error without a
// *failure.Error gets the failure kind of the component's kind.
func (c *component) toFailure(err error) *failure.Error {
	return failureOr(err, c.failureKind())
}

func (c *component) failureKind() failure.Kind {
	switch c.ref.Kind {
	case sdk.KindTermination:
		return failure.StrategyFailed
	case sdk.KindHookAction:
		return failure.HookFailed
	default:
		return failure.ProviderFailed
	}
}

// failureOr returns nil for nil, the failure in err's chain, or a new failure of the kind. A wrapped
// failure keeps the messages of its wrappers.
func failureOr(err error, kind failure.Kind) *failure.Error {
	var f *failure.Error
	switch {
	case err == nil:
		return nil
	case !errors.As(err, &f):
		return failure.New(kind, "%w", err)
	case f.Message == err.Error():
		return f
	default:
		wrapped := *f
		wrapped.Message = err.Error()
		return &wrapped
	}
}

// unknownComponent returns the error for a component that the plugin does not serve.
func unknownComponent(plugin string, m *pb.ComponentRef) error {
	component := fmt.Sprintf("%s %q", wire.Decode[wire.Ref](m).Kind, m.GetName())
	return failure.New(failure.PluginInvalid, "plugin %s serves no %s", plugin, component).
		WithHint("compare with `agent-plugin-%s describe`", plugin)
}

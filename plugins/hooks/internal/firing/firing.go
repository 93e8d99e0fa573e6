package firing

import (
	"context"
	"errors"
	"time"

	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
)

// maxContext is the longest text that an action hands on as context, in bytes.
const MaxContext = 256 << 10

// limitOf is how long an action may take.
func Limit(req sdk.HookRequest, otherwise time.Duration) time.Duration {
	if req.Timeout > 0 {
		return req.Timeout
	}
	return otherwise
}

// tookTooLong is the failure of an action that passed its limit; who names it in messages.
func TimeoutError(who string, limit time.Duration) *failure.Error {
	return failure.New(failure.HookTimeout, "%s took longer than %s and has been ended", who, limit).
		WithHint("give the hook more time (timeout: seconds), or let the run go on without it (on_timeout: continue)")
}

// cutOff is the failure of an action that was ended from outside, by the caller's deadline or because
// the run stops.
func StopError(ctx context.Context, who string) *failure.Error {
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return failure.New(failure.HookTimeout, "%s passed the deadline of its caller: %w", who, context.Cause(ctx))
	}
	return failure.New(failure.SignalInterrupt, "%s was stopped: %w", who, context.Cause(ctx))
}

// atPoint is an answer that the point allows: at the end of a session nothing is left to pause, to repeat
// or to tell an agent.
func AllowedAnswer(point sdk.HookPoint, a sdk.HookAnswer) sdk.HookAnswer {
	if point == sdk.SessionEnd && a.Action != sdk.ActionAbort {
		a.Action, a.Context = sdk.ActionContinue, ""
	}
	return a
}

// injecting answers with a text for the agents, or goes on where there is none.
func ContextAnswer(text string) sdk.HookAnswer {
	if text == "" {
		return sdk.HookAnswer{Action: sdk.ActionContinue}
	}
	return sdk.HookAnswer{Action: sdk.ActionModifyContext, Context: text}
}

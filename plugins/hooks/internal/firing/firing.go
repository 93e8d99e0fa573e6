package firing

import (
	"context"
	"errors"
	"time"

	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
)

// MaxContext is the longest text that an action returns as context, in bytes.
const MaxContext = 256 << 10

// TimeoutError returns the failure of an action that exceeded its limit; name is its subject in messages.
func TimeoutError(name string, limit time.Duration) *failure.Error {
	return failure.New(failure.HookTimeout, "%s took longer than %s and has been ended", name, limit).
		WithHint("raise the hook's limit with timeout: <seconds>, or continue the run without the hook with on_timeout: continue")
}

// StopError returns the failure of an action that the caller's deadline or the end of the run stopped.
func StopError(ctx context.Context, name string) *failure.Error {
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return failure.New(failure.HookTimeout, "%s passed the deadline of its caller: %w", name, context.Cause(ctx))
	}
	return failure.New(failure.SignalInterrupt, "%s was stopped: %w", name, context.Cause(ctx))
}

// AllowedAnswer returns the answer that the hook point allows: at the end of a session only abort has an effect.
func AllowedAnswer(point sdk.HookPoint, answer sdk.HookAnswer) sdk.HookAnswer {
	if point == sdk.SessionEnd && answer.Action != sdk.ActionAbort {
		answer.Action, answer.Context = sdk.ActionContinue, ""
	}
	return answer
}

// ContextAnswer returns an answer that hands a text to the agents; for an empty text the answer is to continue.
func ContextAnswer(text string) sdk.HookAnswer {
	if text == "" {
		return sdk.HookAnswer{Action: sdk.ActionContinue}
	}
	return sdk.HookAnswer{Action: sdk.ActionModifyContext, Context: text}
}

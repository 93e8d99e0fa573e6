package mock

import (
	"cmp"
	"context"
	"errors"
	"math"
	"time"

	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
)

// Fault is a configured fault of a component. The zero value is no fault.
type Fault struct {
	// DelayMS delays the call, in milliseconds. Unset: no delay, or for the provider the delay_ms of its configuration
	// or MOCK_DELAY.
	DelayMS *int `json:"delay_ms,omitempty"`
	// Crash ends the plugin process: "exit", "panic" or "kill" (SIGKILL to itself).
	Crash string `json:"crash,omitempty"`
	// Hang waits until the call is cancelled.
	Hang bool `json:"hang,omitempty"`
	// IgnoreCancel makes delays and hangs ignore cancellation and timeouts; a hang then ends with the process.
	IgnoreCancel bool `json:"ignore_cancel,omitempty"`
	// Failure is the error of the call.
	Failure *Failure `json:"failure,omitempty"`
	// Log is written to the plugin's standard error, which its host reads as log lines.
	Log string `json:"log,omitempty"`
}

// Failure is a configured error.
type Failure struct {
	// Kind is an error_type; any value is passed on. Default provider_failed, strategy_failed or hook_failed.
	Kind failure.Kind `json:"kind,omitempty"`
	// Message is the error's text. Default "mock: configured failure".
	Message string `json:"message,omitempty"`
	// Hint is the hint of the error.
	Hint string `json:"hint,omitempty"`
	// Retryable overrides the default of the kind.
	Retryable *bool `json:"retryable,omitempty"`
	// RetryAfterSeconds is the wait that a service asked for.
	RetryAfterSeconds float64 `json:"retry_after_seconds,omitempty"`
	// Detail is further evidence.
	Detail string `json:"detail,omitempty"`
}

// newError returns the configured error; kind is the default kind.
func (f *Failure) newError(kind failure.Kind) *failure.Error {
	e := failure.New(cmp.Or(f.Kind, kind), "%s", cmp.Or(f.Message, "mock: configured failure"))
	e.Hint, e.Detail, e.RetryAfterSeconds = f.Hint, f.Detail, f.RetryAfterSeconds
	if f.Retryable != nil {
		e.Retryable = *f.Retryable
	}
	return e
}

// pause waits for d. It returns an error if the call ends earlier.
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

// forever is the duration of a hang.
const forever time.Duration = math.MaxInt64

// cancelled returns the reason why a call ended early: a limit of the mock, which is the context's cause, or a
// cancellation by the kernel.
func cancelled(ctx context.Context) error {
	if cause := new(failure.Error); errors.As(context.Cause(ctx), &cause) {
		return cause
	}
	return failure.New(failure.SignalInterrupt, "mock: cancelled: %w", ctx.Err())
}

func milliseconds(n int) time.Duration { return time.Duration(n) * time.Millisecond }

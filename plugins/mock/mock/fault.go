package mock

import (
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
)

// Fault is what can go wrong in a component, as it is configured. The zero value is a good day.
type Fault struct {
	// DelayMS is how long the component takes, in milliseconds. Unset: no time, but the provider then
	// takes the delay_ms of its configuration or MOCK_DELAY.
	DelayMS *int `json:"delay_ms,omitempty"`
	// Crash ends the plugin process: "exit", "panic" or "kill" (SIGKILL to itself).
	Crash string `json:"crash,omitempty"`
	// Hang waits until the call is cancelled.
	Hang bool `json:"hang,omitempty"`
	// IgnoreCancel makes delays and hanging deaf to cancellation and timeouts; a hang then ends with
	// the process.
	IgnoreCancel bool `json:"ignore_cancel,omitempty"`
	// Failure is returned as the error of the call.
	Failure *Failure `json:"failure,omitempty"`
	// Log is written to the plugin's own standard error, where its host reads log lines.
	Log string `json:"log,omitempty"`
}

// Failure is a configured error.
type Failure struct {
	// Kind is an error_type word; any word is passed on. Default provider_failed, strategy_failed or
	// hook_failed.
	Kind failure.Kind `json:"kind,omitempty"`
	// Message is the error's text. Default "mock: configured failure".
	Message string `json:"message,omitempty"`
	// Hint says what to do next.
	Hint string `json:"hint,omitempty"`
	// Retryable overrides the kind's default.
	Retryable *bool `json:"retryable,omitempty"`
	// RetryAfterSeconds is what the service asked to wait.
	RetryAfterSeconds float64 `json:"retry_after_seconds,omitempty"`
	// Detail is longer evidence.
	Detail string `json:"detail,omitempty"`
}

// newError is the configured error; kind is used where none is configured.
func (f *Failure) newError(kind failure.Kind) *failure.Error {
	if f.Kind != "" {
		kind = f.Kind
	}
	text := f.Message
	if text == "" {
		text = "mock: configured failure"
	}
	e := failure.New(kind, "%s", text)
	e.Hint, e.Detail, e.RetryAfterSeconds = f.Hint, f.Detail, f.RetryAfterSeconds
	if f.Retryable != nil {
		e.Retryable = *f.Retryable
	}
	return e
}

// check returns what is wrong with the fault, nil if nothing is.
func (f Fault) check() []string {
	var problems []string
	if f.DelayMS != nil && *f.DelayMS < 0 {
		problems = append(problems, "delay_ms must not be negative")
	}
	return append(problems, checkCrash(f.Crash)...)
}

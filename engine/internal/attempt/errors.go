package attempt

import (
	"errors"
	"time"

	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
)

// classify returns an error of kind provider_failed for an error without a kind, and any other error unchanged.
func classify(err error) error {
	var f *failure.Error
	if errors.As(err, &f) {
		return err
	}
	return failure.New(failure.ProviderFailed, "%w", err)
}

func timeoutError(limit time.Duration) error {
	e := failure.New(failure.IterationTimeout, "the attempt did not end within %s", limit)
	e.Retryable = true
	return e.WithHint("policy.timeout of the node, or policy.stage_timeout of the pipeline, sets the limit in seconds")
}

// outcomeError returns the error for an unsuccessful outcome. The outcome empty is not an error, because an agent may
// write its result and print nothing.
func outcomeError(r sdk.ExecuteResult) error {
	switch r.Outcome {
	case "", sdk.OutcomeSucceeded, sdk.OutcomeEmpty:
		return nil
	}
	if r.Error != nil {
		return r.Error
	}
	e := failure.New(failure.ProviderFailed, "the agent ended as %s (exit code %d)", r.Outcome, r.ExitCode)
	e.Retryable = r.Outcome != sdk.OutcomePermissionDenied && r.Outcome != sdk.OutcomeNeedsPerson
	return e
}

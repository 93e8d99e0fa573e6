package mock

import (
	"time"

	"github.com/dodo-digital/agent-pipelines/plugin-sdk"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
)

// result is the attempt so far.
func (p *performance) result() sdk.ExecuteResult {
	r := sdk.ExecuteResult{
		Output:       p.output.String(),
		Outcome:      p.reply.Outcome,
		ExitCode:     p.reply.ExitCode,
		Duration:     time.Since(p.started),
		Usage:        p.reply.Usage,
		Model:        p.reply.Model,
		AgentVersion: p.reply.AgentVersion,
		Conversation: p.reply.Conversation,
	}
	if r.Model == "" {
		r.Model = p.req.Model
	}
	return r
}

// finish ends the attempt as the reply says: well, with an outcome that carries its error, or with an
// error.
func (p *performance) finish() (sdk.ExecuteResult, error) {
	r := p.result()
	switch {
	case p.reply.Failure != nil:
		if r.Outcome == "" {
			r.Outcome = sdk.OutcomeFailed
		}
		return r, p.reply.Failure.newError(failure.ProviderFailed)
	case r.Outcome == "" && r.ExitCode == 0 && p.leftNothing():
		r.Outcome = sdk.OutcomeEmpty
	case r.Outcome == "" && r.ExitCode == 0:
		r.Outcome = sdk.OutcomeSucceeded
	case r.Outcome == "":
		r.Outcome = sdk.OutcomeFailed
		r.Error = failure.New(failure.ProviderCrashed, "mock: the agent ended with exit code %d", r.ExitCode)
	case r.Outcome != sdk.OutcomeSucceeded:
		r.Error = failure.New(failure.ProviderFailed, "mock: the agent ended with outcome %s", r.Outcome)
		r.Error.Retryable = isRetryable(r.Outcome)
	}
	return r, nil
}

// leftNothing reports whether the agent neither said nor left anything, which is no success.
func (p *performance) leftNothing() bool {
	r := p.reply
	return p.output.Len() == 0 && r.NoResult && r.Artifact == nil && r.RawArtifact == nil && r.Progress == "" && len(r.ToolCalls) == 0
}

// isRetryable reports whether trying again may help against an outcome.
func isRetryable(o sdk.Outcome) bool {
	return o != sdk.OutcomePermissionDenied && o != sdk.OutcomeNeedsPerson
}

// succeeds reports whether the reply is meant to end well.
func (r Reply) succeeds() bool {
	return r.Failure == nil && r.ExitCode == 0 && (r.Outcome == "" || r.Outcome == sdk.OutcomeSucceeded)
}

package mock

import (
	"cmp"
	"time"

	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
)

// result returns the result of the attempt so far.
func (p *performance) result() sdk.ExecuteResult {
	r := sdk.ExecuteResult{
		Output:       p.output.String(),
		Outcome:      p.reply.Outcome,
		ExitCode:     p.reply.ExitCode,
		Duration:     time.Since(p.started),
		Usage:        p.reply.Usage,
		Model:        cmp.Or(p.reply.Model, p.req.Model),
		AgentVersion: p.reply.AgentVersion,
		Conversation: p.reply.Conversation,
	}
	return r
}

// finish ends the attempt: with success, with an outcome and its error, or with the configured failure.
func (p *performance) finish() (sdk.ExecuteResult, error) {
	r := p.result()
	switch {
	case p.reply.Failure != nil:
		r.Outcome = cmp.Or(r.Outcome, sdk.OutcomeFailed)
		return r, p.reply.Failure.newError(failure.ProviderFailed)
	case r.Outcome == "" && r.ExitCode == 0 && p.isEmpty():
		r.Outcome = sdk.OutcomeEmpty
	case r.Outcome == "" && r.ExitCode == 0:
		r.Outcome = sdk.OutcomeSucceeded
	case r.Outcome == "":
		r.Outcome = sdk.OutcomeFailed
		r.Error = failure.New(failure.ProviderCrashed, "mock: the agent ended with exit code %d", r.ExitCode)
	case r.Outcome != sdk.OutcomeSucceeded:
		r.Error = failure.New(failure.ProviderFailed, "mock: the agent ended with outcome %s", r.Outcome)
		r.Error.Retryable = r.Outcome != sdk.OutcomePermissionDenied && r.Outcome != sdk.OutcomeNeedsPerson
	}
	return r, nil
}

// isEmpty reports whether the agent produced no output, no file and no tool call.
func (p *performance) isEmpty() bool {
	r := p.reply
	return p.output.Len() == 0 && r.NoResult && r.Artifact == nil && r.RawArtifact == nil && r.ArtifactFile == "" && r.Progress == "" && len(r.ToolCalls) == 0
}

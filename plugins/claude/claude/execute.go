package claude

import (
	"context"
	"time"

	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/cliagent"
)

// Execute runs Claude Code once, with the prompt on stdin.
//
// The output of an attempt is the agent's texts, each one a paragraph, without thoughts, tool results and texts of
// sub-agents. For a question, or without texts, the output is the text of a successful result event. Without events the
// output is stdout. The agent's own event stream is passed on as raw chunks.
//
// If a deadline or the caller ends the attempt, Execute returns the partial result and an error. Any other end is a
// result with its Outcome and Error.
func (p *Provider) Execute(ctx context.Context, req sdk.ExecuteRequest, x sdk.Exchange) (sdk.ExecuteResult, error) {
	cfg, err := readConfig(req.Config)
	if err != nil {
		return sdk.ExecuteResult{}, err
	}
	cmd, err := p.command(req, cfg)
	if err != nil {
		return sdk.ExecuteResult{}, err
	}
	s := newStream(x)
	s.dir = req.WorkDir
	cmd.Line, cmd.Exchange = s.events.Line, x
	end, err := cliagent.Run(ctx, cmd)
	if err != nil {
		return sdk.ExecuteResult{}, err
	}
	result := sdk.ExecuteResult{
		Output:       s.output(req.Purpose),
		ExitCode:     end.ExitCode,
		Duration:     end.Duration,
		Usage:        s.usage,
		Model:        s.model(),
		AgentVersion: s.version,
		Conversation: s.sessionID,
	}
	if end.Interrupted() {
		result.Outcome = sdk.OutcomeInfrastructure
		return result, end.Failure()
	}
	if result.AgentVersion == "" {
		result.AgentVersion = p.versions.Version(ctx, cmd)
	}
	result.Outcome, result.Error = verdict(s, end, time.Now())
	return result, nil
}

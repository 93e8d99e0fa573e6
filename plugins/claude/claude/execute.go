package claude

import (
	"context"
	"time"

	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/cliagent"
)

// Execute runs Claude Code once, with the prompt on stdin.
//
// The output of an attempt is: what the agent said, each text a paragraph, without its thoughts, its
// tools' results and what its sub-agents said; for a question only its last text, the answer. Where it
// said nothing on the way, its final result stands alone; where it prints no events, its stdout does.
// The agent's own stream of events goes out as raw chunks.
//
// An attempt that a deadline or the caller ended is an error; one that ended by itself, however badly,
// is a result with its Outcome and Error.
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
		Conversation: s.session,
	}
	if end.Interrupted() {
		result.Outcome = sdk.OutcomeInfrastructure
		return result, end.Failure()
	}
	if result.AgentVersion == "" {
		result.AgentVersion = p.versions.Of(ctx, cmd)
	}
	result.Outcome, result.Error = verdict(s, end, time.Now())
	return result, nil
}

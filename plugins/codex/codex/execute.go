package codex

import (
	"context"
	"fmt"

	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/cliagent"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
)

// Execute runs codex exec once, with the prompt and the exit paragraph on stdin.
//
// The output of an attempt is the agent's messages, each one a paragraph. For a question it is only the last message,
// if the turn was completed. Without events the output is stdout. The agent's own event stream is passed on as raw
// chunks. The result's model is the requested model, because the events name no model.
//
// If a deadline or the caller ends the attempt, Execute returns the partial result and an error. Any other end is a
// result with its Outcome and Error. The time limit is the shorter of the attempt's own limit and CODEX_TIMEOUT. At
// this limit the exit code is 124, or 137 if Codex was killed. The watchdog ends a Codex that stays after its work is
// done; such an attempt succeeds unless its turn failed.
func (p *Provider) Execute(ctx context.Context, req sdk.ExecuteRequest, x sdk.Exchange) (sdk.ExecuteResult, error) {
	cfg, err := readConfig(req.Config)
	if err != nil {
		return sdk.ExecuteResult{}, err
	}
	cmd, plan, err := p.command(req, cfg)
	if err != nil {
		return sdk.ExecuteResult{}, err
	}
	s := newStream(x)
	s.dir = req.WorkDir
	if price, ok := findPrice(plan.model, cfg); ok {
		s.price = &price
	}
	w := newWatchdog(req, plan.watch)
	cmd.Line, cmd.Exchange, cmd.Done = s.events.Line, x, w.newSign(s.busy)
	end, err := cliagent.Run(ctx, cmd)
	if err != nil {
		return sdk.ExecuteResult{}, err
	}
	result := sdk.ExecuteResult{
		Output:       s.output(req.Purpose),
		ExitCode:     end.ExitCode,
		Duration:     end.Duration,
		Usage:        s.usage,
		Conversation: s.threadID,
	}
	if s.events.Seen() {
		result.Model = plan.model
	}
	if end.Interrupted() {
		result.Outcome = sdk.OutcomeInfrastructure
		result.ExitCode = exitCode(end)
		return result, interruption(end)
	}
	result.AgentVersion = p.versions.Version(ctx, cmd)
	if end.StopReason == cliagent.StopDone {
		s.progress("the work is done; Codex stayed and was ended", "")
	}
	result.Outcome, result.Error = w.verdict(s, end)
	return result, nil
}

// exitCode returns the exit code that timeout(1) would return: its own codes at the time limit, else the process's
// code.
func exitCode(end cliagent.End) int {
	switch {
	case end.StopReason != cliagent.StopTimeout:
		return end.ExitCode
	case end.Killed:
		return exitKilled
	default:
		return exitTimeout
	}
}

func interruption(end cliagent.End) *failure.Error {
	f := end.Failure()
	if end.StopReason != cliagent.StopTimeout {
		return f
	}
	f.Message = fmt.Sprintf("%s (exit code %d)", f.Message, exitCode(end))
	return f.WithHint("raise CODEX_TIMEOUT (seconds) or the stage's own limit, or give the agent less to do")
}

package acp

import (
	"cmp"
	"context"
	"time"

	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/cliagent"
)

// linger is the time that an agent may stay after its stdin is closed; some agents never end without a signal.
const linger = 3 * time.Second

// Execute starts the agent, sends the prompt in a new session, and ends the agent after its turn.
//
// The output of an attempt is the agent's messages, each one a paragraph, without thoughts and tool results; for a question
// only the last message. The agent's own lines are passed on as raw chunks.
//
// With permissions ask, each request for permission is a gated call. Calls without a request are observed. They are
// reported only when they end: an agent may request permission for a call that it has announced as running. The
// protocol cannot carry the reason of a refusal. The agent gets the reasons in a further turn, in which it continues.
//
// If a deadline or the caller ends the attempt, Execute returns the partial result and an error. Any other end is a
// result with its Outcome and Error.
func (p *Provider) Execute(ctx context.Context, req sdk.ExecuteRequest, x sdk.Exchange) (sdk.ExecuteResult, error) {
	s, err := p.readConfig(req.Config)
	if err != nil {
		return sdk.ExecuteResult{}, err
	}
	cmd, err := p.command(s, req)
	if err != nil {
		return sdk.ExecuteResult{}, err
	}
	a := newAttempt(ctx, s, req, x)
	defer a.cancel(nil)
	a.startLimit = p.startLimit
	cmd.Exchange, cmd.WaitingTime = x, a.waitTime.total
	cmd.Line = func(line []byte) bool { a.peer.handleLine(line); return false }
	cmd.Talk = a.run
	end, err := cliagent.Run(ctx, cmd)
	if err != nil {
		return sdk.ExecuteResult{}, err
	}
	a.report.finish(a.stopReason != "")
	result := sdk.ExecuteResult{
		Output:       a.report.output(req.Purpose),
		ExitCode:     end.ExitCode,
		Duration:     end.Duration,
		Usage:        a.report.totalUsage(),
		Model:        cmp.Or(a.report.model, a.model, req.Model),
		AgentVersion: a.version,
		Conversation: string(a.session),
	}
	if end.Interrupted() {
		result.Outcome = sdk.OutcomeInfrastructure
		return result, end.Failure()
	}
	result.Outcome, result.Error = a.verdict(end, time.Now())
	return result, nil
}

// command returns the command of an attempt.
func (p *Provider) command(s setup, req sdk.ExecuteRequest) (cliagent.Command, error) {
	env := cliagent.Environ(cliagent.Environ(p.environ(), s.Env), req.Environment)
	path, err := p.lookup(s, env)
	if err != nil {
		return cliagent.Command{}, err
	}
	args := s.command[1:]
	if s.modelFlag != "" && req.Model != "" {
		args = append(args[:len(args):len(args)], s.modelFlag, req.Model)
	}
	return cliagent.Command{
		Name: s.title, Path: path, Args: args, Dir: req.WorkDir, Env: env,
		Timeout: req.Timeout, IdleTimeout: req.IdleTimeout, Grace: req.Grace, Linger: linger,
	}, nil
}

// newAttempt returns an attempt that ends with ctx.
func newAttempt(ctx context.Context, s setup, req sdk.ExecuteRequest, x sdk.Exchange) *attempt {
	a := &attempt{setup: s, req: req, x: x, report: newReport(x, s.partialUsage, req.WorkDir)}
	a.ctx, a.cancel = context.WithCancelCause(ctx)
	a.peer = &peer{onNotification: a.handleNotification, onRequest: a.handleRequest}
	return a
}

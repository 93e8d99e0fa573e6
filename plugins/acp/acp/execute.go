package acp

import (
	"cmp"
	"context"
	"sync"
	"time"

	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/cliagent"
)

// linger is how long an agent may stay when its stdin is closed; some never end by that.
const linger = 3 * time.Second

// Execute starts the agent, gives it the prompt in a session of its own, and ends it when its turn is over.
//
// The output of an attempt is what the agent said, each message a paragraph, without its thoughts and its
// tools' results; for a question only its last message. The agent's own lines go out as raw chunks.
//
// Each request for permission is a gated call. What the agent does without asking is observed, and told when
// it has ended: an agent may ask about a call that it has announced as under way. A refusal has no room for a
// reason in the protocol; the agent is told it in one more turn, in which it goes on.
//
// An attempt that a deadline or the caller ended is an error; one that ended by itself, however badly, is a
// result with its Outcome and Error.
func (p *Provider) Execute(ctx context.Context, req sdk.ExecuteRequest, x sdk.Exchange) (sdk.ExecuteResult, error) {
	s, err := p.read(req.Config)
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
	cmd.Exchange, cmd.Held = x, a.held.total
	cmd.Line = func(line []byte) bool { a.peer.line(line); return false }
	cmd.Talk = a.talk
	end, err := cliagent.Run(ctx, cmd)
	if err != nil {
		return sdk.ExecuteResult{}, err
	}
	a.report.finish(a.stop != "")
	result := sdk.ExecuteResult{
		Output:       a.report.output(req.Purpose),
		ExitCode:     end.ExitCode,
		Duration:     end.Duration,
		Usage:        a.report.totals(),
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

// command puts an attempt's command line together.
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

// lookup finds the agent's program.
func (p *Provider) lookup(s setup, env []string) (string, error) {
	return cliagent.Lookup(p.Describe().Name, s.command[0], cmp.Or(s.install, "its maker's instructions"), env)
}

// stopwatch adds up the time in which at least one thing is waited for. Safe for concurrent use.
type stopwatch struct {
	mu    sync.Mutex // guards:
	waits int
	since time.Time
	sum   time.Duration
}

// hold counts from now until release is called.
func (w *stopwatch) hold() (release func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.waits++; w.waits == 1 {
		w.since = time.Now()
	}
	return w.release
}

func (w *stopwatch) release() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.waits--; w.waits == 0 {
		w.sum += time.Since(w.since)
	}
}

// total is the time so far.
func (w *stopwatch) total() time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.waits > 0 {
		return w.sum + time.Since(w.since)
	}
	return w.sum
}

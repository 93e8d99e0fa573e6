package codex

import (
	"cmp"
	"fmt"

	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/cliagent"
)

// exitParagraph ends every prompt, with the text of the Bash engine: without it Codex often waits for more input.
const exitParagraph = "\n\n---\n" +
	"IMPORTANT: After completing this task and writing any required output files, EXIT IMMEDIATELY.\n" +
	"Do NOT wait for follow-up. Do NOT ask for confirmation. The pipeline handles iteration control."

// arguments returns the arguments of the command line; "-" reads the prompt from stdin. Without a network Codex may
// retry forever. Only the attempt's deadlines end these retries, so that Codex can continue when the network returns.
func arguments(cfg Config, c modelChoice) []string {
	args := []string{
		"exec", "--json", "--dangerously-bypass-approvals-and-sandbox", "--skip-git-repo-check",
		"--model", c.model, "-c", fmt.Sprintf("model_reasoning_effort=%q", c.effort),
	}
	return append(append(args, cfg.Args...), "-")
}

// attemptPlan holds the settings of an attempt that are needed after its start.
type attemptPlan struct {
	modelChoice
	watch watchTiming
}

// command returns the command of an attempt.
func (p *Provider) command(req sdk.ExecuteRequest, cfg Config) (cliagent.Command, attemptPlan, error) {
	env := cliagent.Environ(p.environ(), req.Environment)
	c, err := chooseModel(req.Model, cfg, env)
	if err != nil {
		return cliagent.Command{}, attemptPlan{}, err
	}
	l, err := readLimits(req.Timeout, cfg, env)
	if err != nil {
		return cliagent.Command{}, attemptPlan{}, err
	}
	path, err := cliagent.Lookup(name, cfg.Command, installCommand, env)
	if err != nil {
		return cliagent.Command{}, attemptPlan{}, err
	}
	return cliagent.Command{
		Name: name, Path: path, Args: arguments(cfg, c), Dir: req.WorkDir, Env: env,
		Stdin:   req.Prompt + exitParagraph,
		Timeout: l.total, IdleTimeout: req.IdleTimeout, Grace: req.Grace, TimeoutGrace: cmp.Or(req.Grace, l.grace),
	}, attemptPlan{c, l.watch}, nil
}

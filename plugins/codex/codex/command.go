package codex

import (
	"cmp"
	"fmt"
	"runtime"

	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/cliagent"
)

// exitParagraph ends every prompt, in the words of the Bash engine: Codex likes to wait for more.
const exitParagraph = "\n\n---\n" +
	"IMPORTANT: After completing this task and writing any required output files, EXIT IMMEDIATELY.\n" +
	"Do NOT wait for follow-up. Do NOT ask for confirmation. The pipeline handles iteration control."

// arguments is the command line; "-" takes the prompt from stdin. Without a network Codex would try
// for ever: it is told not to by a setting, because an unknown --disable is an error in other versions.
func arguments(cfg Config, c choice) []string {
	args := []string{
		"exec", "--json", "--dangerously-bypass-approvals-and-sandbox", "--skip-git-repo-check",
		"-m", c.model, "-c", fmt.Sprintf("model_reasoning_effort=%q", c.effort),
		"-c", "features.unbounded_connection_retries=false",
	}
	return append(append(args, cfg.Args...), "-")
}

// command puts an attempt's command line together.
func (p *Provider) command(req sdk.ExecuteRequest, cfg Config) (cliagent.Command, choice, error) {
	env := cliagent.Environ(p.environ(), req.Environment)
	c, err := choose(req.Model, cfg, env)
	if err != nil {
		return cliagent.Command{}, c, err
	}
	limit, err := timeLimit(req.Timeout, env)
	if err != nil {
		return cliagent.Command{}, c, err
	}
	path, err := cliagent.Lookup(name, cfg.Command, install, env)
	if err != nil {
		return cliagent.Command{}, c, err
	}
	return cliagent.Command{
		Name: name, Path: native(path, runtime.GOOS, runtime.GOARCH), Args: arguments(cfg, c), Dir: req.WorkDir, Env: env,
		Stdin:   req.Prompt + exitParagraph,
		Timeout: limit, IdleTimeout: req.IdleTimeout, Grace: cmp.Or(req.Grace, killDelay),
	}, c, nil
}

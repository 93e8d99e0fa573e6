package claude

import (
	"strconv"

	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/cliagent"
)

const defaultModel = "opus"

// contextTokens is what the models of Claude Code take in; those with more have to be asked for by name.
const contextTokens = 200_000

// shortNames are the models that the Bash engine wrote in other ways; all other names are passed on as
// they are (REQUIREMENTS K39).
var shortNames = map[string]string{
	"claude-opus": "opus", "opus-4": "opus", "opus-4.5": "opus",
	"claude-sonnet": "sonnet", "sonnet-4": "sonnet",
	"claude-haiku": "haiku",
}

// modelName is what the command line is told.
func modelName(model string) string {
	if model == "" {
		return defaultModel
	}
	if short, ok := shortNames[model]; ok {
		return short
	}
	return model
}

// arguments is the command line. stream-json needs --verbose in print mode. The prompt is no argument:
// one of more than 128 KiB could not be started.
func arguments(cfg Config, req sdk.ExecuteRequest) []string {
	args := []string{"--print"}
	if cfg.PermissionMode == bypass {
		args = append(args, "--dangerously-skip-permissions")
	} else {
		args = append(args, "--permission-mode", cfg.PermissionMode)
	}
	args = append(args, "--model", modelName(req.Model), "--output-format", "stream-json", "--verbose")
	if cfg.MaxTurns > 0 {
		args = append(args, "--max-turns", strconv.Itoa(cfg.MaxTurns))
	}
	if limit := maxBudget(cfg, req.Budget); limit > 0 {
		args = append(args, "--max-budget-usd", strconv.FormatFloat(limit, 'f', -1, 64))
	}
	if cfg.AppendSystemPrompt != "" {
		args = append(args, "--append-system-prompt", cfg.AppendSystemPrompt)
	}
	return append(args, cfg.Args...)
}

// maxBudget is the smaller one of what the configuration and the run allow, in dollars; 0 is no limit. The command
// line takes no limit in tokens.
func maxBudget(cfg Config, run *sdk.Budget) float64 {
	if run == nil || run.MaxUSD == nil || cfg.MaxBudgetUSD > 0 && cfg.MaxBudgetUSD < *run.MaxUSD {
		return cfg.MaxBudgetUSD
	}
	return *run.MaxUSD
}

const retriesVariable = "CLAUDE_CODE_MAX_RETRIES"

// environment is what the agent gets of the plugin's own and of what is added for it.
func (p *Provider) environment(added map[string]string, cfg Config) []string {
	cfg.IsSandbox = cfg.IsSandbox || p.contained.Load()
	return environment(p.environ(), added, cfg)
}

// environment is the agent's. Claude Code retries a failing service ten times by itself, which takes
// minutes; the kernel retries attempts, so once is enough unless the user says otherwise.
func environment(base []string, added map[string]string, cfg Config) []string {
	env := cliagent.Environ(base, added)
	if cliagent.Getenv(env, retriesVariable) == "" {
		env = cliagent.Environ(env, map[string]string{retriesVariable: "1"})
	}
	if cfg.IsSandbox {
		env = cliagent.Environ(env, map[string]string{"IS_SANDBOX": "1"})
	}
	return env
}

// command puts an attempt's command line together.
func (p *Provider) command(req sdk.ExecuteRequest, cfg Config) (cliagent.Command, error) {
	env := p.environment(req.Environment, cfg)
	path, err := cliagent.Lookup(name, cfg.Command, install, env)
	if err != nil {
		return cliagent.Command{}, err
	}
	return cliagent.Command{
		Name: name, Path: path, Args: arguments(cfg, req), Dir: req.WorkDir, Env: env, Stdin: req.Prompt,
		Timeout: req.Timeout, IdleTimeout: req.IdleTimeout, Grace: req.Grace,
	}, nil
}

package claude

import (
	"strconv"
	"sync/atomic"

	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/cliagent"
)

const defaultModel = "opus"

// contextTokens is the context size of Claude Code's models. A larger context must be requested in the model's
// name.
const contextTokens = 200_000

// shortNames maps model names of the Bash engine to current names. All other names stay unchanged (REQUIREMENTS K39).
var shortNames = map[string]string{
	"claude-opus": "opus", "opus-4": "opus", "opus-4.5": "opus",
	"claude-sonnet": "sonnet", "sonnet-4": "sonnet",
	"claude-haiku": "haiku",
}

// modelName returns the model's name for the command line.
func modelName(model string) string {
	if model == "" {
		return defaultModel
	}
	if short, ok := shortNames[model]; ok {
		return short
	}
	return model
}

// arguments returns the arguments of the command line. stream-json needs --verbose in print mode. The prompt goes to stdin,
// because a program cannot start with an argument of more than 128 KiB.
func arguments(cfg Config, req sdk.ExecuteRequest) []string {
	args := []string{"--print"}
	if cfg.PermissionMode == bypassPermissions {
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

// maxBudget returns the smaller of the limits of the configuration and the run in US dollars; 0 is no limit. The
// command line has no limit in tokens.
func maxBudget(cfg Config, run *sdk.Budget) float64 {
	if run == nil || run.MaxUSD == nil || cfg.MaxBudgetUSD > 0 && cfg.MaxBudgetUSD < *run.MaxUSD {
		return cfg.MaxBudgetUSD
	}
	return *run.MaxUSD
}

const retriesVariable = "CLAUDE_CODE_MAX_RETRIES"

// environment returns the agent's environment: the plugin's own variables and the added variables. Claude Code retries
// a failed request ten times, which takes minutes. The kernel retries attempts, so the default here is one retry.
func (p *Provider) environment(added map[string]string, cfg Config) []string {
	env := cliagent.Environ(p.environ(), added)
	if cliagent.Getenv(env, retriesVariable) == "" {
		env = cliagent.Environ(env, map[string]string{retriesVariable: "1"})
	}
	if cfg.IsSandbox || p.contained.Load() {
		env = cliagent.Environ(env, map[string]string{"IS_SANDBOX": "1"})
	}
	return env
}

// command returns the command of an attempt.
func (p *Provider) command(req sdk.ExecuteRequest, cfg Config) (cliagent.Command, error) {
	env := p.environment(req.Environment, cfg)
	path, err := cliagent.Lookup(name, cfg.Command, installCommand, env)
	if err != nil {
		return cliagent.Command{}, err
	}
	return cliagent.Command{
		Name: name, Path: path, Args: arguments(cfg, req), Dir: req.WorkDir, Env: env, Stdin: req.Prompt,
		Timeout: req.Timeout, IdleTimeout: req.IdleTimeout, Grace: req.Grace,
	}, nil
}

// Provider drives Claude Code. It is safe for concurrent use: each attempt is a process of its own,
// and Claude Code locks the state that its processes share.
type Provider struct {
	environ  func() []string
	versions cliagent.Versions
	// contained is true if the kernel confines the process. Then Claude Code may bypass permissions even as root.
	contained atomic.Bool
}

// New returns a provider. environ returns the base of the agents' environment, usually os.Environ; each method of the
// provider calls it at most once.
func New(environ func() []string) *Provider {
	return &Provider{environ: environ}
}

const name = "claude"

const installCommand = "npm install -g @anthropic-ai/claude-code"

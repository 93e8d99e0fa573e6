package agent

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/cliagent"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/redact"
	"github.com/dodo-digital/agent-pipelines/plugins/agent/internal/loop"
	"github.com/dodo-digital/agent-pipelines/plugins/agent/internal/model"
	"github.com/dodo-digital/agent-pipelines/plugins/agent/internal/tool"
)

// These limit the retries of a request to the model service after a temporary failure (REQUIREMENTS K26, K4).
const (
	modelRetries = 3
	burstRetries = 5
)

// Execute implements [sdk.Provider].
func (p *Provider) Execute(ctx context.Context, req sdk.ExecuteRequest, x sdk.Exchange) (sdk.ExecuteResult, error) {
	if req.Timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, req.Timeout, failure.New(failure.ProviderTimeout, "the agent was not done after %s", req.Timeout).
			WithHint("raise policy.timeout, or give the agent less to do at once"))
		defer cancel()
	}
	if ctx.Err() != nil {
		return sdk.ExecuteResult{Outcome: sdk.OutcomeInfrastructure}, context.Cause(ctx)
	}
	env := cliagent.Environ(p.environ(), req.Environment)
	c, name, service, err := resolve(req.Config, req.Model, req.Mode, env)
	if err != nil {
		return sdk.ExecuteResult{Outcome: sdk.OutcomeFailed}, err
	}
	client, closeIdle, err := model.New(service)
	if err != nil {
		return sdk.ExecuteResult{Outcome: sdk.OutcomeFailed}, err
	}
	defer closeIdle()
	a := c.newAttempt(req, x, client, name)
	a.Redactor = redact.New(env).WithoutPublicValues(req.WorkDir).WithVariables(serviceSecrets(service)).ForAgent() // tool results are program output
	if req.Purpose == sdk.PurposeQuestion {
		return loop.Answer(ctx, a)
	}
	tools, err := tool.NewSet(c.toolOptions(req, x, p.environ(), a.Redactor))
	if err != nil {
		return sdk.ExecuteResult{Outcome: sdk.OutcomeFailed}, failure.New(failure.ProviderFailed, "open the workspace: %w", err)
	}
	defer func() { _ = tools.Close() }() // written files are on disk already
	a.Tools = tools
	return loop.Run(ctx, a)
}

// newAttempt returns the loop's attempt without its tools.
func (c Config) newAttempt(req sdk.ExecuteRequest, x sdk.Exchange, client model.Client, name string) loop.Attempt {
	a := loop.Attempt{
		Request: req, Exchange: x, Client: client, Model: name, Effort: c.Effort, System: c.System,
		MaxTurns: c.MaxTurns, IdenticalTurns: c.IdenticalTurns, MaxTokens: c.MaxOutputTokens, Retries: modelRetries, IdleTimeout: req.IdleTimeout,
	}
	if req.Mode == sdk.ModeBurst {
		a.Retries, a.IdleTimeout = burstRetries, 2*a.IdleTimeout
	}
	if price, known := c.Prices[name]; known {
		a.Price = price.Cost
	}
	return a
}

// toolOptions returns the options of an attempt's tools. Commands do not get the variables with the service's secrets.
func (c Config) toolOptions(req sdk.ExecuteRequest, x sdk.Exchange, env []string, redactor *redact.Redactor) tool.Options {
	secrets := append(slices.Collect(maps.Values(c.Headers)), c.APIKeyEnv)
	o := tool.Options{
		Root: req.WorkDir, Allowed: req.Tools.AllowedCommands, Timeout: req.Tools.CommandTimeout, ResultTokens: req.Tools.MaxResultTokens,
		Environ: withoutVariables(env, secrets), AddedEnviron: req.Environment, Redactor: redactor, Offline: req.Mode == sdk.ModeAirgapped, Grace: req.Grace,
		Reports:  []string{req.Paths.Status, req.Paths.Result, req.Paths.Progress, req.Paths.Output, req.Paths.Artifact},
		Readable: []string{req.Paths.Context, req.Paths.InputArtifact}, Protected: req.Tools.Protected, ReadOnly: req.Tools.ReadOnly,
		Progress: func(message string) { x.Progress(sdk.Progress{Message: message}) },
	}
	for i := range c.ToolRetries {
		o.Retry = append(o.Retry, time.Second<<i)
	}
	if req.Mode == sdk.ModeBurst {
		o.Timeout = min(2*cmp.Or(o.Timeout, tool.DefaultTimeout), tool.MaxTimeout)
	}
	return o
}

// serviceSecrets returns a service's secrets as variables whose names make a redactor treat the values as secret.
func serviceSecrets(e model.Endpoint) []string {
	all := []string{"SERVICE_API_KEY=" + e.Key}
	for _, value := range e.Headers {
		all = append(all, "SERVICE_SECRET="+value)
	}
	return all
}

// withoutVariables returns an environment without the named variables.
func withoutVariables(env, names []string) []string {
	return slices.DeleteFunc(slices.Clone(env), func(entry string) bool {
		name, _, _ := strings.Cut(entry, "=")
		return slices.Contains(names, name)
	})
}

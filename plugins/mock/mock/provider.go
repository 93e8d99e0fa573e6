package mock

import (
	"context"
	"time"

	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
)

// Plugin returns the plugin agent-plugin-mock. The version is a semantic version without a leading v.
func Plugin(version string) sdk.Plugin {
	return sdk.Plugin{
		Name:         "mock",
		Version:      version,
		Providers:    []sdk.Provider{NewProvider()},
		Terminations: []sdk.Termination{NewStrategy()},
		HookActions:  []sdk.HookAction{NewAction()},
	}
}

// Provider is the provider mock: an agent that behaves as configured. Use [NewProvider]. It is safe for concurrent
// use.
type Provider struct {
	process process
	uses    useCounter
}

// NewProvider returns a provider. Each provider has its own counts of the uses of replies with a limit.
func NewProvider() *Provider { return &Provider{process: currentProcess()} }

// Describe implements [sdk.Provider]. The traits are those of a mock without configured faults.
func (p *Provider) Describe() sdk.Component {
	return sdk.Component{
		Name:         "mock",
		Summary:      "replies from configuration or fixtures, for tests and trials",
		ConfigSchema: providerSchema,
		Capabilities: []string{sdk.CapabilityShared},
		Needs:        &sdk.Needs{Commands: true}, // a configuration may run commands
		Provider: &sdk.ProviderTraits{
			ModelChoice: sdk.ModelsAny, Locality: sdk.LocalityLocal, GatedTools: true, ObservedTools: true,
			Usage: sdk.ReportsSome, Cost: sdk.ReportsSome, Resume: true, SoftCancel: true,
		},
	}
}

// Validate implements [sdk.Validator]: it rejects unknown keys and contradicting values, and accepts every model.
func (p *Provider) Validate(_ context.Context, req sdk.ValidateRequest) error {
	_, err := decodeConfig(req.Config)
	return err
}

// Execute plays the reply that is configured for the request. Its errors are the configured errors, config_invalid,
// budget_exceeded, approval_denied for a call with on_deny: fail, and signal_interrupt or provider_timeout for an early
// end.
func (p *Provider) Execute(ctx context.Context, req sdk.ExecuteRequest, x sdk.Exchange) (sdk.ExecuteResult, error) {
	env := environment{request: req.Environment, getenv: p.process.getenv}
	completed, err := env.completeRequest(req)
	if err != nil {
		return sdk.ExecuteResult{}, err
	}
	s, err := loadScript(completed, env)
	if err != nil {
		return sdk.ExecuteResult{}, err
	}
	if err := recordRequest(req, s.recordFiles(req.WorkDir)); err != nil {
		return sdk.ExecuteResult{}, err
	}
	if req.Timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, req.Timeout, failure.New(failure.ProviderTimeout, "mock: exceeded the timeout of %s", req.Timeout))
		defer cancel()
	}
	reply, err := p.uses.chooseReply(s, completed, env.get(envProvider)).fillTemplates(newTemplateValues(completed))
	if err != nil {
		return sdk.ExecuteResult{}, err
	}
	play := &performance{process: p.process, req: completed, exchange: x, script: s, reply: reply, started: time.Now()}
	return play.run(ctx)
}

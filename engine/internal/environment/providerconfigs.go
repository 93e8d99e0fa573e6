package environment

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/dodo-digital/agent-pipelines/engine/internal/settings"
	"github.com/dodo-digital/agent-pipelines/kernel/pluginhost"
	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
)

// ProviderConfigs maps canonical names of providers to their settings.
type ProviderConfigs map[string]settings.Provider

// Names returns the variables that the settings of a provider name, for its environment.
func (u ProviderConfigs) Names(ctx context.Context, host *pluginhost.Host, provider string) []string {
	component, _ := host.Component(ctx, sdk.KindProvider, provider) // an unknown provider has no settings
	s := u[component.Name]
	return slices.Concat(pluginhost.ReferencedEnv(s.Config), s.Env)
}

// Configure returns the provider with its settings applied. maxViolations is the limit of refused tool calls in an
// attempt, 0 for the provider's own.
func (u ProviderConfigs) Configure(p sdk.Provider, maxViolations int) sdk.Provider {
	if s, ok := u[p.Describe().Name]; ok || maxViolations > 0 {
		return configuredProvider{p, s, maxViolations}
	}
	return p
}

// configuredProvider is a provider with its settings applied.
type configuredProvider struct {
	sdk.Provider
	settings      settings.Provider
	maxViolations int
}

var (
	_ sdk.Validator = configuredProvider{}
	_ sdk.Diagnoser = configuredProvider{}
)

// Execute implements sdk.Provider.
func (c configuredProvider) Execute(ctx context.Context, req sdk.ExecuteRequest, x sdk.Exchange) (sdk.ExecuteResult, error) {
	req.Config = c.settings.Config
	req.Model = cmp.Or(req.Model, c.settings.Model)
	req.Tools.MaxViolations = c.maxViolations
	result, err := c.Provider.Execute(ctx, req, x)
	return result, c.addLocation(err)
}

// Validate implements sdk.Validator.
func (c configuredProvider) Validate(ctx context.Context, req sdk.ValidateRequest) error {
	v, ok := c.Provider.(sdk.Validator)
	if !ok {
		return nil
	}
	req.Config = c.settings.Config
	req.Model = cmp.Or(req.Model, c.settings.Model)
	return c.addLocation(v.Validate(ctx, req))
}

// Diagnose implements sdk.Diagnoser.
func (c configuredProvider) Diagnose(ctx context.Context, req sdk.ValidateRequest) ([]sdk.Finding, error) {
	x, ok := c.Provider.(sdk.Diagnoser)
	if !ok {
		return nil, c.Validate(ctx, req)
	}
	req.Config = c.settings.Config
	req.Model = cmp.Or(req.Model, c.settings.Model)
	findings, err := x.Diagnose(ctx, req)
	return findings, c.addLocation(err)
}

// addLocation adds the file position of a rejected configuration to the provider's error.
func (c configuredProvider) addLocation(err error) error {
	var f *failure.Error
	if len(c.settings.Config) == 0 || !errors.As(err, &f) || f.Kind != failure.ConfigInvalid {
		return err
	}
	located := *f
	located.Message = fmt.Sprintf("provider %s, configured at %s: %s", c.Describe().Name, c.settings.ConfigAt, f.Message)
	located.Cause = err
	return &located
}

package environment

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/dodo-digital/agent-pipelines/engine/internal/settings"
	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
)

// ProviderConfigs maps canonical names of providers to their settings.
type ProviderConfigs map[string]settings.Provider

// Configure returns the provider with its settings applied.
func (u ProviderConfigs) Configure(p sdk.Provider) sdk.Provider {
	if s, ok := u[p.Describe().Name]; ok {
		return configuredProvider{p, s}
	}
	return p
}

// configuredProvider is a provider with its settings applied.
type configuredProvider struct {
	sdk.Provider
	settings settings.Provider
}

var (
	_ sdk.Validator = configuredProvider{}
	_ sdk.Diagnoser = configuredProvider{}
)

// Execute implements sdk.Provider.
func (c configuredProvider) Execute(ctx context.Context, req sdk.ExecuteRequest, x sdk.Exchange) (sdk.ExecuteResult, error) {
	req.Config = c.settings.Config
	req.Model = cmp.Or(req.Model, c.settings.Model)
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

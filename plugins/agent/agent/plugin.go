package agent

import (
	"context"

	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
)

// Plugin is the plugin agent-plugin-agent. The version is a semantic version without a leading v.
func Plugin(version string) sdk.Plugin {
	return sdk.Plugin{Name: "agent", Version: version, Providers: []sdk.Provider{NewProvider()}}
}

// Provider is the provider agent. It is safe for concurrent use.
type Provider struct{}

// NewProvider returns the provider.
func NewProvider() *Provider { return &Provider{} }

// Describe implements [sdk.Provider].
func (*Provider) Describe() sdk.Component {
	return sdk.Component{Name: "agent", Summary: "works with tools of its own on any model", Provider: &sdk.ProviderTraits{Locality: sdk.LocalityConfigured}}
}

// Execute implements [sdk.Provider].
func (*Provider) Execute(context.Context, sdk.ExecuteRequest, sdk.Exchange) (sdk.ExecuteResult, error) {
	return sdk.ExecuteResult{}, failure.New(failure.ProviderFailed, "this build has no model yet")
}

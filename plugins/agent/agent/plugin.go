package agent

import (
	"cmp"
	"context"
	_ "embed"
	"encoding/json"
	"maps"
	"os"
	"slices"

	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/cliagent"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
	"github.com/dodo-digital/agent-pipelines/plugins/agent/internal/model"
)

const name = "agent"

//go:embed config.schema.json
var configSchema []byte

// Plugin returns the plugin agent-plugin-agent. The version is a semantic version without a leading v.
func Plugin(version string) sdk.Plugin {
	return sdk.Plugin{Name: name, Version: version, Providers: []sdk.Provider{NewProvider(os.Environ)}}
}

// Provider is the provider "agent". It is safe for concurrent use: attempts share no state.
type Provider struct {
	environ func() []string
}

// NewProvider returns a provider. environ returns the environment with the API keys; it is usually os.Environ. Commands
// start in the same environment without the keys.
func NewProvider(environ func() []string) *Provider { return &Provider{environ: environ} }

// Describe implements [sdk.Provider].
func (*Provider) Describe() sdk.Component {
	return sdk.Component{
		Name:         name,
		Summary:      "a model with tools of its own: Ollama, LM Studio, llama.cpp, vLLM, OpenAI, Anthropic",
		ConfigSchema: configSchema,
		Capabilities: []string{sdk.CapabilityConfinedTools},
		Needs:        &sdk.Needs{Network: true, Environment: slices.Sorted(maps.Values(keyVariables))},
		Provider: &sdk.ProviderTraits{
			Locality: sdk.LocalityConfigured, ReasoningEffort: true, GatedTools: true,
			Usage: sdk.ReportsAlways, Cost: sdk.ReportsSome, Resume: true, SoftCancel: true, ConfinedByDefault: true,
		},
	}
}

// Validate refuses a configuration that cannot work, and a service that the mode does not allow. It opens no connection.
func (p *Provider) Validate(_ context.Context, req sdk.ValidateRequest) error {
	_, _, _, err := resolve(req.Config, req.Model, req.Mode, p.environ())
	return err
}

// resolve reads a configuration and returns the model and the service that it names.
func resolve(raw json.RawMessage, asked string, mode sdk.Mode, env []string) (c Config, name string, service model.Endpoint, err error) {
	if c, err = readConfig(raw); err != nil {
		return c, "", service, err
	}
	if name, err = c.modelName(asked); err != nil {
		return c, "", service, err
	}
	service, err = c.endpoint(mode, env)
	return c, name, service, err
}

// modelName returns the model that the pipeline names, or else the model of the configuration.
func (c Config) modelName(asked string) (string, error) {
	if m := cmp.Or(asked, c.Model); m != "" {
		return m, nil
	}
	return "", failure.New(failure.ConfigInvalid, "provider %s needs a model", name).
		WithHint("name it with --model, `model` beside the provider in the pipeline, or model in config.yaml under providers.%s.config", name)
}

// endpoint returns the model service with its secrets from env. It returns an error if the mode does not allow the
// service.
func (c Config) endpoint(mode sdk.Mode, env []string) (model.Endpoint, error) {
	networks, err := c.networks()
	if err != nil {
		return model.Endpoint{}, err
	}
	e := model.Endpoint{
		API: c.API, BaseURL: c.BaseURL, Headers: map[string]string{},
		Network: model.NetworkPolicy{Local: mode.Local(), Networks: networks, Mode: string(mode)},
	}
	if err := e.Check(); err != nil {
		return e, err
	}
	if e.Key, err = lookupSecret(env, c.APIKeyEnv, "api_key_env"); err != nil {
		return e, err
	}
	for header, variable := range c.Headers {
		if e.Headers[header], err = lookupSecret(env, variable, "headers."+header); err != nil {
			return e, err
		}
	}
	return e, nil
}

// lookupSecret returns the value of the variable, or "" if variable is empty. An unset variable is an error that names
// the configuration key.
func lookupSecret(env []string, variable, key string) (string, error) {
	if variable == "" {
		return "", nil
	}
	if value := cliagent.Getenv(env, variable); value != "" {
		return value, nil
	}
	return "", configError("%s: the environment variable %s is not set", key, variable).
		WithHint("export %s with its value; where policy.env lists variables, it must list this one", variable)
}

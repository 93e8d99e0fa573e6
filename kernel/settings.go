package kernel

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"

	"github.com/dodo-digital/agent-pipelines/kernel/internal/diagnostic"
	"github.com/dodo-digital/agent-pipelines/kernel/internal/pluginhost"
	"github.com/dodo-digital/agent-pipelines/kernel/internal/pluginhost/discovery"
	"github.com/dodo-digital/agent-pipelines/kernel/internal/pluginhost/trust"
	"github.com/dodo-digital/agent-pipelines/kernel/internal/settings"
)

// WithProviderConfig configures a provider, by its name or an alias, with a JSON object. It takes the
// place of the config that the user's config.yaml has for it; of two for one provider the later counts.
// The provider checks it before work begins.
func WithProviderConfig(provider string, object json.RawMessage) Option {
	return func(c *config) {
		c.providerConfigs = append(c.providerConfigs, settings.Provider{
			Name: provider, Config: slices.Clone(object), File: "WithProviderConfig",
		})
	}
}

// userSettings are what the user says of providers.
type userSettings struct {
	file settings.Settings
	// over wins over the file.
	over []settings.Provider
	// found are the file's faults and warnings. Faults are told when a session is to run, and keep nobody
	// from looking at sessions or from stopping one.
	found diagnostic.List
}

// readSettings reads the user's config.yaml.
func (c *config) readSettings() (userSettings, error) {
	for _, p := range c.providerConfigs {
		var object map[string]any
		if err := json.Unmarshal(p.Config, &object); err != nil || object == nil {
			return userSettings{}, fmt.Errorf("%w: the config of provider %q is no JSON object", ErrOptions, p.Name)
		}
	}
	dir := c.configDir
	if dir == "" {
		var err error
		if dir, err = discovery.ConfigDir(); err != nil {
			return userSettings{}, err
		}
	}
	search := discovery.Search{Project: c.workDir, Trusted: trust.Store{Dir: dir}.IsTrusted, Home: c.variable("HOME")}
	file, found := settings.Read(dir, func(dir string) bool {
		return search.FromProject(discovery.Place{Dir: dir, Source: discovery.FromConfig})
	})
	return userSettings{file: file, over: c.providerConfigs, found: found}, nil
}

// assign finds out which provider each of the settings is for, by canonical name. The error holds every
// fault of the file.
func (u userSettings) assign(ctx context.Context, host *pluginhost.Host) (userConfigs, Diagnostics, error) {
	if u.found.HasErrors() {
		return nil, nil, u.found
	}
	if len(u.file.Providers)+len(u.over) == 0 {
		return nil, u.found, nil
	}
	catalog, err := newCatalog(ctx, host, nil)
	if err != nil {
		return nil, nil, err
	}
	configs, found := u.file.Assign(catalog, u.over)
	found = slices.Concat(u.found, found)
	if found.HasErrors() {
		return nil, nil, found
	}
	return configs, found, nil
}

// userConfigs are the user's settings of providers by canonical name.
type userConfigs map[string]settings.Provider

// of is the provider with the user's settings of it.
func (u userConfigs) of(p sdk.Provider) sdk.Provider {
	if said, ok := u[p.Describe().Name]; ok {
		return configured{p, said}
	}
	return p
}

// configured is a provider as the user configured it.
type configured struct {
	sdk.Provider
	said settings.Provider
}

var _ sdk.Validator = configured{}

// Execute implements sdk.Provider.
func (c configured) Execute(ctx context.Context, req sdk.ExecuteRequest, x sdk.Exchange) (sdk.ExecuteResult, error) {
	req.Config = c.said.Config
	req.Model = orElse(req.Model, c.said.Model)
	result, err := c.Provider.Execute(ctx, req, x)
	return result, c.explain(err)
}

// Validate implements sdk.Validator.
func (c configured) Validate(ctx context.Context, req sdk.ValidateRequest) error {
	v, ok := c.Provider.(sdk.Validator)
	if !ok {
		return nil
	}
	req.Config = c.said.Config
	req.Model = orElse(req.Model, c.said.Model)
	return c.explain(v.Validate(ctx, req))
}

// explain says beside the provider's own words where the refused configuration stands.
func (c configured) explain(err error) error {
	var f *failure.Error
	if len(c.said.Config) == 0 || !errors.As(err, &f) || f.Kind != failure.ConfigInvalid {
		return err
	}
	told := *f
	told.Message = fmt.Sprintf("provider %s, configured at %s: %s", c.Describe().Name, c.said.Origin(), f.Message)
	told.Cause = err
	return &told
}

package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"

	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"

	"github.com/dodo-digital/agent-pipelines/engine/internal/settings"
	"github.com/dodo-digital/agent-pipelines/kernel/compile"
	"github.com/dodo-digital/agent-pipelines/kernel/diagnostic"
	"github.com/dodo-digital/agent-pipelines/kernel/pluginhost"
	plugincatalog "github.com/dodo-digital/agent-pipelines/kernel/pluginhost/catalog"
	"github.com/dodo-digital/agent-pipelines/kernel/pluginhost/trust"
)

// WithProviderConfig configures a provider, by its name or an alias, with a JSON object. It takes the
// place of the config that files of settings have for it; of two for one provider the later counts.
// The provider checks it before work begins.
func WithProviderConfig(provider string, object json.RawMessage) Option {
	return func(c *config) {
		here := settings.Place{File: "WithProviderConfig"}
		c.providerConfigs = append(c.providerConfigs, settings.Provider{
			Name: provider, Config: slices.Clone(object), At: here, ConfigAt: here,
		})
	}
}

// allSettings are what the files of settings say, and the program that embeds the kernel.
type allSettings struct {
	project, user written
	userFile      string // absolute path
	foreign       bool   // that lies inside the project, and is not the user's word
	// over wins over the files.
	over []settings.Provider
	// trusted: the user trusts the project.
	trusted bool
}

// written is what one file says, with its faults and warnings. Faults are told when a session is to run, and
// keep nobody from looking at sessions or from stopping one.
type written struct {
	settings.Settings
	found diagnostic.List
}

// readSettings reads the project's and the user's config.yaml.
func (c *config) readSettings() (allSettings, error) {
	for _, p := range c.providerConfigs {
		var object map[string]any
		if err := json.Unmarshal(p.Config, &object); err != nil || object == nil {
			return allSettings{}, fmt.Errorf("%w: the config of provider %q is no JSON object", ErrOptions, p.Name)
		}
	}
	dir := c.configDir
	if dir == "" {
		var err error
		if dir, err = plugincatalog.ConfigDir(); err != nil {
			return allSettings{}, err
		}
	}
	home := c.variable("HOME")
	s := allSettings{userFile: filepath.Join(dir, settings.FileName), over: c.providerConfigs}
	s.foreign = plugincatalog.ConfigInProject(dir, c.workDir, home)
	s.user.Settings, s.user.found = settings.Read(dir, s.foreign)
	trusts := plugincatalog.TrustFunc(trust.Store{Dir: dir}, c.workDir, home)
	s.project.Settings, s.project.found = settings.ReadProject(c.workDir, trusts)
	if ok, err := trusts(c.workDir); err == nil { // the other reader of it reports a damaged file
		s.trusted = ok
	}
	return s, nil
}

// layers are the files, the one that wins first.
func (s allSettings) layers() settings.Layers {
	return settings.Layers{s.project.Settings, s.user.Settings}
}

// found are the faults and warnings of the files.
func (s allSettings) found() Diagnostics { return slices.Concat(s.project.found, s.user.found) }

// assign finds out which provider each of the settings is for, by canonical name, and checks what they name. The error holds every
// fault of the files.
func (s allSettings) assign(ctx context.Context, host *pluginhost.Host) (userConfigs, Diagnostics, error) {
	found := s.found()
	if found.HasErrors() {
		return nil, nil, found
	}
	layers := s.layers()
	if len(s.project.Providers)+len(s.user.Providers)+len(s.over)+len(layers.Notify()) == 0 && layers.Defaults().Provider == "" {
		return nil, found, nil
	}
	catalog, err := newCatalog(ctx, host, nil)
	if err != nil {
		return nil, nil, err
	}
	configs, more := layers.Assign(catalog, s.over)
	found = slices.Concat(found, more, layers.CheckNotify(catalog))
	if found.HasErrors() {
		return nil, nil, found
	}
	return configs, found, nil
}

// defaults are what holds for pipelines that say nothing.
func (s allSettings) defaults() compile.Defaults {
	said := s.layers().Defaults()
	d := compile.Defaults{Provider: said.Provider, Delay: said.Delay, File: said.ProviderAt.File, At: said.ProviderAt.Pos}
	for _, c := range s.layers().Commands() {
		if d.Commands == nil {
			d.Commands = map[string]string{}
		}
		d.Commands[c.Name] = c.Text
	}
	return d
}

// userConfigs are the settings of providers by canonical name.
type userConfigs map[string]settings.Provider

// of is the provider with the settings of it.
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

var (
	_ sdk.Validator = configured{}
	_ sdk.Examiner  = configured{}
)

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

// Examine implements sdk.Examiner.
func (c configured) Examine(ctx context.Context, req sdk.ValidateRequest) ([]sdk.Finding, error) {
	x, ok := c.Provider.(sdk.Examiner)
	if !ok {
		return nil, c.Validate(ctx, req)
	}
	req.Config = c.said.Config
	req.Model = orElse(req.Model, c.said.Model)
	findings, err := x.Examine(ctx, req)
	return findings, c.explain(err)
}

// explain says beside the provider's own words where the refused configuration stands.
func (c configured) explain(err error) error {
	var f *failure.Error
	if len(c.said.Config) == 0 || !errors.As(err, &f) || f.Kind != failure.ConfigInvalid {
		return err
	}
	told := *f
	told.Message = fmt.Sprintf("provider %s, configured at %s: %s", c.Describe().Name, c.said.ConfigAt, f.Message)
	told.Cause = err
	return &told
}

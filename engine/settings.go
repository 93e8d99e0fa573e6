package engine

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/dodo-digital/agent-pipelines/engine/internal/settings"
	"github.com/dodo-digital/agent-pipelines/kernel/compile"
	"github.com/dodo-digital/agent-pipelines/kernel/pluginhost"

	plugincatalog "github.com/dodo-digital/agent-pipelines/kernel/pluginhost/catalog"
	"github.com/dodo-digital/agent-pipelines/kernel/pluginhost/trust"
	"github.com/dodo-digital/agent-pipelines/kernel/yamldoc"

	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
)

// allSettings holds the settings of both files and of the embedding program.
type allSettings struct {
	project, user settingsFile
	userFile      string // absolute path
	inProject     bool   // userFile is inside the project, and thus not the user's
	// overrides take precedence over the files.
	overrides []settings.Provider
	// trusted reports that the user trusts the project.
	trusted bool
}

// settingsFile holds one file's settings and diagnostics. Faults are reported when a session is to run; they
// do not prevent inspecting or stopping sessions.
type settingsFile struct {
	settings.Settings
	diagnostics yamldoc.Diagnostics
}

// readSettings reads the project's and the user's config.yaml.
func (c *config) readSettings() (allSettings, error) {
	for _, p := range c.providerConfigs {
		var object map[string]any
		if err := json.Unmarshal(p.Config, &object); err != nil || object == nil {
			return allSettings{}, fmt.Errorf("%w: the config of provider %q is not a JSON object", ErrOptions, p.Name)
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
	s := allSettings{userFile: filepath.Join(dir, settings.FileName), overrides: c.providerConfigs}
	s.inProject = plugincatalog.ConfigInProject(dir, c.workDir, home)
	s.user.Settings, s.user.diagnostics = settings.Read(dir, s.inProject)
	trusts := plugincatalog.TrustFunc(trust.Store{Dir: dir}, c.workDir, home)
	s.project.Settings, s.project.diagnostics = settings.ReadProject(c.workDir, trusts)
	if ok, err := trusts(c.workDir); err == nil { // settings.ReadProject reports a damaged trust file
		s.trusted = ok
	}
	return s, nil
}

// layers returns the files in order of precedence.
func (s allSettings) layers() settings.Layers {
	return settings.Layers{s.project.Settings, s.user.Settings}
}

// diagnostics returns the faults and warnings of both files.
func (s allSettings) diagnostics() Diagnostics {
	return slices.Concat(s.project.diagnostics, s.user.diagnostics)
}

// assign resolves provider names in the settings to canonical names and checks all names. The error holds
// every fault of the files.
func (s allSettings) assign(ctx context.Context, host *pluginhost.Host) (providerConfigs, Diagnostics, error) {
	found := s.diagnostics()
	if found.HasErrors() {
		return nil, nil, found
	}
	layers := s.layers()
	if len(s.project.Providers)+len(s.user.Providers)+len(s.overrides)+len(layers.Notify()) == 0 && layers.Defaults().Provider == "" {
		return nil, found, nil
	}
	catalog, err := newCatalog(ctx, host, nil)
	if err != nil {
		return nil, nil, err
	}
	configs, assigned := layers.Assign(catalog, s.overrides)
	found = slices.Concat(found, assigned, layers.CheckNotify(catalog))
	if found.HasErrors() {
		return nil, nil, found
	}
	return configs, found, nil
}

// defaults returns the settings for pipelines that do not set them.
func (s allSettings) defaults() compile.Defaults {
	merged := s.layers().Defaults()
	d := compile.Defaults{Provider: merged.Provider, Delay: merged.Delay, File: merged.ProviderAt.File, At: merged.ProviderAt.Pos}
	for _, c := range s.layers().Commands() {
		if d.Commands == nil {
			d.Commands = map[string]string{}
		}
		d.Commands[c.Name] = c.Text
	}
	return d
}

// providerConfigs maps canonical names of providers to their settings.
type providerConfigs map[string]settings.Provider

// configure returns the provider with its settings applied.
func (u providerConfigs) configure(p sdk.Provider) sdk.Provider {
	if s, ok := u[p.Describe().Name]; ok {
		return configuredProvider{p, s}
	}
	return p
}

// configuredProvider is a provider with the user's settings.
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

// Diagnose implements sdk.Examiner.
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

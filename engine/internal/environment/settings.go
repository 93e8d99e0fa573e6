package environment

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"path/filepath"
	"slices"

	"github.com/dodo-digital/agent-pipelines/engine/internal/settings"
	"github.com/dodo-digital/agent-pipelines/kernel/compile"
	"github.com/dodo-digital/agent-pipelines/kernel/pluginhost"

	plugincatalog "github.com/dodo-digital/agent-pipelines/kernel/pluginhost/catalog"
	"github.com/dodo-digital/agent-pipelines/kernel/yamldoc"

	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
)

// Settings holds the settings of both files and of the embedding program.
type Settings struct {
	Project, User SettingsFile
	UserFile      string // absolute path
	InProject     bool   // UserFile is inside the project, and thus not the user's
	// Overrides take precedence over the files; of two entries for one provider the last counts.
	Overrides []settings.Provider
	// trusted reports that the user trusts the project.
	trusted bool
}

// SettingsFile holds one file's settings and diagnostics. Faults are reported when a session starts or resumes; they
// do not prevent queries, or stopping a session.
type SettingsFile struct {
	settings.Settings
	Diagnostics yamldoc.Diagnostics
}

// ReadSettings reads the project's and the user's config.yaml.
func (c *Config) ReadSettings() (Settings, error) {
	for _, p := range c.ProviderConfigs {
		var object map[string]any
		if err := json.Unmarshal(p.Config, &object); err != nil || object == nil {
			return Settings{}, fmt.Errorf("%w: the config of provider %q is not a JSON object", ErrOptions, p.Name)
		}
	}
	dir := c.ConfigDir
	if dir == "" {
		var err error
		if dir, err = plugincatalog.ConfigDir(); err != nil {
			return Settings{}, err
		}
	}
	home := c.Variable("HOME")
	s := Settings{UserFile: filepath.Join(dir, settings.FileName), Overrides: c.ProviderConfigs}
	s.InProject = plugincatalog.ConfigInProject(dir, c.WorkDir, home)
	s.User.Settings, s.User.Diagnostics = settings.Read(dir, s.InProject)
	trusts := plugincatalog.TrustFunc(plugincatalog.Store{Dir: dir}, c.WorkDir, home)
	s.Project.Settings, s.Project.Diagnostics = settings.ReadProject(c.WorkDir, trusts)
	for i, d := range s.Project.Diagnostics {
		s.Project.Diagnostics[i].Hint = failure.Render(d.Hint, c.Program)
	}
	if ok, err := trusts(c.WorkDir); err == nil { // settings.ReadProject reports a damaged trust file
		s.trusted = ok
	}
	return s, nil
}

// Layers returns the files in order of precedence.
func (s Settings) Layers() settings.Layers {
	return settings.Layers{s.Project.Settings, s.User.Settings}
}

// Diagnostics returns the faults and warnings of both files.
func (s Settings) Diagnostics() yamldoc.Diagnostics {
	return slices.Concat(s.Project.Diagnostics, s.User.Diagnostics)
}

// Assign resolves provider names in the settings to canonical names and checks all names. The error holds
// every fault of the files.
func (s Settings) Assign(ctx context.Context, host *pluginhost.Host) (ProviderConfigs, yamldoc.Diagnostics, error) {
	found := s.Diagnostics()
	if found.HasErrors() {
		return nil, nil, found
	}
	layers := s.Layers()
	if len(s.Project.Providers)+len(s.User.Providers)+len(s.Overrides)+len(layers.Notify()) == 0 && s.Defaults().Provider == "" {
		return nil, found, nil
	}
	catalog, err := NewCatalog(ctx, host, nil)
	if err != nil {
		return nil, nil, err
	}
	configs, assigned := layers.Assign(catalog, s.Overrides)
	found = slices.Concat(found, assigned, layers.CheckNotify(catalog))
	if found.HasErrors() {
		return nil, nil, found
	}
	return configs, found, nil
}

// Defaults returns the settings for pipelines that do not set them.
func (s Settings) Defaults() compile.Defaults {
	d := compile.Defaults{Commands: map[string]string{}}
	for _, layer := range slices.Backward(s.Layers()) {
		maps.Copy(d.Commands, layer.Commands)
		d.Delay = cmp.Or(layer.Defaults.Delay, d.Delay)
		if layer.Defaults.Provider != "" {
			at := layer.At("defaults", "provider")
			d.Provider, d.File, d.At = layer.Defaults.Provider, at.File, at.Pos
		}
	}
	return d
}

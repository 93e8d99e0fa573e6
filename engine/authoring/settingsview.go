package authoring

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/dodo-digital/agent-pipelines/engine/internal/environment"
	"github.com/dodo-digital/agent-pipelines/engine/internal/settings"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/kernel/yamldoc"
	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
)

// Setting is an effective setting of the settings files.
type Setting struct {
	Key string `json:"key"` // such as "providers.claude.model"; the provider's name, never an alias
	// Value is the setting as text. Of a provider's config only the member names are shown: it may hold
	// secrets.
	Value string `json:"value"`
	From  string `json:"from"` // "file:line:column", or the option that set it
}

// Settings holds the merged settings of all files.
type Settings struct {
	ProjectFile string    `json:"project_file"` // absolute paths of both files, which need not exist
	UserFile    string    `json:"user_file"`
	Settings    []Setting `json:"settings"` // sorted by key
	// Warnings lists entries of the files that have no effect.
	Warnings yamldoc.Diagnostics `json:"warnings,omitempty"`
}

// Settings returns the merged settings of the project's and the user's config.yaml, each with its source. It
// fails with [yamldoc.Diagnostics] if a file has faults.
func (pr Project) Settings(ctx context.Context) (*Settings, error) {
	providers, warnings, err := pr.env.Settings.Assign(ctx, pr.env.Host)
	if err != nil {
		return nil, err
	}
	s := &Settings{
		ProjectFile: filepath.Join(pr.env.Config.WorkDir, settings.ProjectFile), UserFile: pr.env.Settings.UserFile, Warnings: warnings,
	}
	s.collect(pr.env.Settings.Layers(), providers)
	return s, nil
}

// collect lists the merged settings of layers, with the resolved provider entries.
func (s *Settings) collect(layers settings.Layers, providers environment.ProviderConfigs) {
	s.Settings = []Setting{}
	background, at := layers.Background()
	s.add("background", string(background), at)
	for _, c := range layers.Commands() {
		s.add("commands."+c.Name, c.Text, c.At)
	}
	d := layers.Defaults()
	if d.Delay != nil {
		s.add("defaults.delay", strconv.FormatFloat(*d.Delay, 'f', -1, 64), d.DelayAt)
	}
	s.add("defaults.provider", d.Provider, d.ProviderAt)
	for i, n := range layers.Notify() {
		s.addNotification(fmt.Sprint("notify.", i+1, "."), n)
	}
	for _, layer := range layers {
		s.add("mode", layer.Mode, layer.ModeAt)
		s.addSandbox("sandbox", layer.Sandbox, layer.SandboxAt)
		for _, p := range layer.Providers {
			s.addSandbox("providers."+p.Name+".sandbox", p.Sandbox, p.SandboxAt)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(providers)) {
		p := providers[name]
		s.add("providers."+name+".config", memberNames(p.Config), p.ConfigAt)
		s.add("providers."+name+".model", p.Model, p.ModelAt)
	}
	slices.SortStableFunc(s.Settings, func(a, b Setting) int { return strings.Compare(a.Key, b.Key) })
}

// addSandbox adds a sandbox setting as JSON. Both files contribute to it.
func (s *Settings) addSandbox(key string, sandbox *plan.Sandbox, at settings.Place) {
	if sandbox == nil {
		return
	}
	b, err := json.Marshal(sandbox)
	if err != nil {
		panic(fmt.Sprintf("engine: encode a sandbox: %v", err))
	}
	s.add(key, string(b), at)
}

// addNotification adds the settings of a notify entry.
func (s *Settings) addNotification(key string, n settings.Notification) {
	s.add(key+"action", n.Action, n.Keys["action"])
	s.add(key+"config", memberNames(n.Config), n.Keys["config"])
	s.add(key+"on", joinPoints(n.On), n.Keys["on"])
	s.add(key+"timeout", formatSeconds(n.Timeout), n.Keys["timeout"])
}

// joinPoints returns the points as text: "waiting, failed".
func joinPoints(points []sdk.HookPoint) string {
	var all []string
	for _, p := range points {
		all = append(all, string(p))
	}
	return strings.Join(all, ", ")
}

// formatSeconds returns a duration in seconds, "" for zero.
func formatSeconds(d time.Duration) string {
	if d == 0 {
		return ""
	}
	return strconv.FormatFloat(d.Seconds(), 'f', -1, 64)
}

// add adds a setting unless its value is empty.
func (s *Settings) add(key, value string, at settings.Place) {
	if value != "" {
		s.Settings = append(s.Settings, Setting{Key: key, Value: value, From: at.String()})
	}
}

// memberNames returns an object's member names: "{args, max_turns}", "" for other values.
func memberNames(object json.RawMessage) string {
	var all map[string]json.RawMessage
	if json.Unmarshal(object, &all) != nil {
		return ""
	}
	return "{" + strings.Join(slices.Sorted(maps.Keys(all)), ", ") + "}"
}

// Layer names the owner of a settings file.
type Layer string

// Layers of settings files, in order of precedence.
const (
	LayerProject Layer = "project"
	LayerUser    Layer = "user"
)

// SettingOrigin is a setting as one layer defines it.
type SettingOrigin struct {
	Setting
	Layer Layer `json:"layer"`
	// Effective reports that the setting is in effect, and not overridden by another layer.
	Effective bool `json:"counts"`
}

// SettingOrigins returns the settings of all layers, sorted by key, then by precedence. It fails with [yamldoc.Diagnostics]
// if a file has faults.
func (pr Project) SettingOrigins(ctx context.Context) ([]SettingOrigin, error) {
	s, err := pr.Settings(ctx)
	if err != nil {
		return nil, err
	}
	catalog, err := environment.NewCatalog(ctx, pr.env.Host, nil)
	if err != nil {
		return nil, err
	}
	all := []SettingOrigin{}
	for _, l := range []struct {
		name     Layer
		settings settings.Settings
	}{{LayerProject, pr.env.Settings.Project.Settings}, {LayerUser, pr.env.Settings.User.Settings}} {
		alone := settings.Layers{l.settings}
		providers, _ := alone.Assign(catalog, nil) // pr.Settings has reported the diagnostics
		var own Settings
		own.collect(alone, providers)
		for _, row := range own.Settings {
			counts := slices.ContainsFunc(s.Settings, func(c Setting) bool { return c.From == row.From })
			all = append(all, SettingOrigin{row, l.name, counts})
		}
	}
	slices.SortStableFunc(all, func(a, b SettingOrigin) int { return strings.Compare(a.Key, b.Key) })
	return all, nil
}

// CheckSetting reports whether a key names a setting; the error wraps [engine.ErrOptions] and suggests a similar
// key.
func CheckSetting(key string) error {
	if _, err := settings.ParseKey(key); err != nil {
		return fmt.Errorf("%w: %w", environment.ErrOptions, err)
	}
	return nil
}

// SetSetting sets a key in the user's or the project's config.yaml, creating the file if needed. Comments and
// other settings stay; all lines get the usual form. A text value is taken literally; other values are YAML. If the file has faults, or would
// have, nothing is written and the error is [yamldoc.Diagnostics]. An unknown key is [engine.ErrOptions]. This engine keeps
// its old settings; the warnings are about the new file.
func (pr Project) SetSetting(ctx context.Context, layer Layer, key, value string) (yamldoc.Diagnostics, error) {
	k, err := settings.ParseKey(key)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", environment.ErrOptions, err)
	}
	var found yamldoc.Diagnostics
	if layer == LayerProject {
		found, err = settings.SetProject(pr.env.Config.WorkDir, k, value)
	} else {
		found, err = settings.Set(filepath.Dir(pr.env.Settings.UserFile), pr.env.Settings.InProject, k, value)
	}
	switch {
	case err != nil:
		return nil, err
	case found.HasErrors():
		return nil, found
	}
	now, err := pr.env.Config.ReadSettings()
	if err != nil {
		return nil, err
	}
	_, found, err = now.Assign(ctx, pr.env.Host)
	return found, err
}

// Background is the place where a session runs if the command line does not name one.
type Background = settings.Background

// Values of [Background].
const (
	// BackgroundUnset: no settings file sets it, or one of them is invalid.
	BackgroundUnset = settings.BackgroundUnset
	// BackgroundOff runs the session in the terminal that starts it.
	BackgroundOff = settings.BackgroundOff
	// BackgroundDetach runs the session in a process without a terminal.
	BackgroundDetach = settings.BackgroundDetach
	// BackgroundTmux runs the session in a tmux session.
	BackgroundTmux = settings.BackgroundTmux
)

// Background returns the setting of the project's .claude/config.yaml, or else of the user's config.yaml. An
// unattended run, as in CI, ignores the project's file. [engine.Engine.Run] and [engine.Engine.Preflight] report the faults
// of these files.
func (pr Project) Background(unattended bool) Background {
	if pr.env.Settings.Diagnostics().HasErrors() {
		return BackgroundUnset
	}
	if unattended {
		return pr.env.Settings.User.Background
	}
	b, _ := pr.env.Settings.Layers().Background()
	return b
}

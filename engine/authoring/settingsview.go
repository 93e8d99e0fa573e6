package authoring

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/dodo-digital/agent-pipelines/engine/internal/environment"
	"github.com/dodo-digital/agent-pipelines/engine/internal/settings"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/kernel/yamldoc"
	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
)

// Setting is one setting with its source.
type Setting struct {
	Key string `json:"key"` // such as "providers.claude.model"; the provider's name, never an alias
	// Value is the setting as text. Of the config of a provider or notification it has only the member names, because
	// a config may hold secrets.
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
	all, warnings, err := pr.origins(ctx)
	if err != nil {
		return nil, err
	}
	s := &Settings{
		ProjectFile: filepath.Join(pr.env.Config.WorkDir, settings.ProjectFile), UserFile: pr.env.Settings.UserFile, Settings: []Setting{}, Warnings: warnings,
	}
	for _, row := range all {
		if row.Effective {
			s.Settings = append(s.Settings, row.Setting)
		}
	}
	return s, nil
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

// SettingOrigins returns the settings of all layers, sorted by key, then by precedence. It fails with
// [yamldoc.Diagnostics] if a file has faults.
func (pr Project) SettingOrigins(ctx context.Context) ([]SettingOrigin, error) {
	all, _, err := pr.origins(ctx)
	return slices.DeleteFunc(all, func(row SettingOrigin) bool { return row.Layer == "" }), err
}

// origins returns the settings of all layers as [Project.SettingOrigins] does, and the settings of the program's
// options, which have no layer. The diagnostics are warnings.
func (pr Project) origins(ctx context.Context) ([]SettingOrigin, yamldoc.Diagnostics, error) {
	_, warnings, err := pr.env.Settings.Assign(ctx, pr.env.Host)
	if err != nil {
		return nil, nil, err
	}
	overrides := slices.Clone(pr.env.Settings.Overrides)
	slices.Reverse(overrides)
	o := origins{provider: func(name string) (sdk.Component, error) { return pr.env.Host.Component(ctx, sdk.KindProvider, name) }}
	o.addLayer("", settings.Settings{Providers: overrides})
	o.addLayer(LayerProject, pr.env.Settings.Project.Settings)
	o.addLayer(LayerUser, pr.env.Settings.User.Settings)
	slices.SortStableFunc(o.all, func(a, b SettingOrigin) int { return strings.Compare(a.Key, b.Key) })
	return o.all, warnings, nil
}

// origins collects the settings of layers, in order of precedence.
type origins struct {
	provider      func(name string) (sdk.Component, error)
	all           []SettingOrigin
	notifications int
}

func (o *origins) addLayer(layer Layer, s settings.Settings) {
	add := func(key, value string, at settings.Place) {
		if value == "" {
			return
		}
		overridden := slices.ContainsFunc(o.all, func(row SettingOrigin) bool { return row.Key == key })
		merged := key == "mode" || key == "sandbox" || strings.HasPrefix(key, "providers.") && strings.HasSuffix(key, ".sandbox") // all layers contribute
		o.all = append(o.all, SettingOrigin{Setting{key, value, at.String()}, layer, merged || !overridden})
	}
	add("background", string(s.Background), s.At("background"))
	for name, text := range s.Commands {
		add("commands."+name, text, s.At("commands", name))
	}
	if d := s.Defaults.Delay; d != nil {
		add("defaults.delay", strconv.FormatFloat(*d, 'f', -1, 64), s.At("defaults", "delay"))
	}
	add("defaults.provider", s.Defaults.Provider, s.At("defaults", "provider"))
	add("mode", s.Mode, s.At("mode"))
	add("sandbox", sandboxText(s.Sandbox), s.At("sandbox"))
	for i, n := range s.Notify {
		o.notifications++
		key, index := fmt.Sprint("notify.", o.notifications, "."), strconv.Itoa(i)
		add(key+"action", n.Action, s.At("notify", index, "action"))
		add(key+"config", memberNames(n.Config), n.ConfigAt)
		add(key+"on", joinPoints(n.On), s.At("notify", index, "on"))
		if n.Timeout > 0 {
			add(key+"timeout", strconv.FormatFloat(n.Timeout.Seconds(), 'f', -1, 64), s.At("notify", index, "timeout"))
		}
	}
	for _, p := range s.Providers {
		if component, err := o.provider(p.Name); err == nil {
			key := "providers." + component.Name + "."
			add(key+"config", memberNames(p.Config), p.ConfigAt)
			add(key+"env", strings.Join(p.Env, ", "), s.At("providers", p.Name, "env"))
			add(key+"model", p.Model, s.At("providers", p.Name, "model"))
			add(key+"sandbox", sandboxText(p.Sandbox), s.At("providers", p.Name, "sandbox"))
		}
	}
}

// sandboxText returns a sandbox as JSON, "" for none.
func sandboxText(sandbox *plan.Sandbox) string {
	if sandbox == nil {
		return ""
	}
	b, err := json.Marshal(sandbox)
	if err != nil {
		panic(fmt.Sprintf("engine: encode a sandbox: %v", err))
	}
	return string(b)
}

// joinPoints returns the points as text: "waiting, failed".
func joinPoints(points []sdk.HookPoint) string {
	var all []string
	for _, p := range points {
		all = append(all, string(p))
	}
	return strings.Join(all, ", ")
}

// memberNames returns an object's member names: "{args, max_turns}", "" for other values.
func memberNames(object json.RawMessage) string {
	var all map[string]json.RawMessage
	if json.Unmarshal(object, &all) != nil {
		return ""
	}
	return "{" + strings.Join(slices.Sorted(maps.Keys(all)), ", ") + "}"
}

// CheckSetting returns nil if a key names a setting. Otherwise the error wraps [engine.ErrOptions] and suggests a
// similar key.
func CheckSetting(key string) error {
	if _, err := settings.ParseKey(key); err != nil {
		return fmt.Errorf("%w: %w", environment.ErrOptions, err)
	}
	return nil
}

// SetSetting sets a key in the user's or the project's config.yaml, creating the file if needed. Comments and other
// settings stay, but the whole file is reformatted. A text value is taken literally; other values are YAML. If the
// file has faults, or would have faults with the value, nothing is written and the error is [yamldoc.Diagnostics]. An
// unknown key is [engine.ErrOptions]. This engine keeps its old settings; the warnings are about the new file.
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
	// BackgroundUnset means that no settings file sets the place, or that a settings file has faults.
	BackgroundUnset = settings.BackgroundUnset
	// BackgroundOff runs the session in the terminal that starts it.
	BackgroundOff = settings.BackgroundOff
	// BackgroundDetach runs the session in a process without a terminal.
	BackgroundDetach = settings.BackgroundDetach
	// BackgroundTmux runs the session in a tmux session.
	BackgroundTmux = settings.BackgroundTmux
)

// Background returns the setting of the project's .claude/config.yaml, or else of the user's config.yaml. An
// unattended run, as in CI, ignores the project's file. [engine.Engine.Run] and [engine.Engine.Preflight] report the
// faults of these files.
func (pr Project) Background(unattended bool) Background {
	if pr.env.Settings.Diagnostics().HasErrors() {
		return BackgroundUnset
	}
	if unattended {
		return pr.env.Settings.User.Background
	}
	return cmp.Or(pr.env.Settings.Project.Background, pr.env.Settings.User.Background)
}

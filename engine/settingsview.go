package engine

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

	"github.com/dodo-digital/agent-pipelines/engine/internal/settings"
	"github.com/dodo-digital/agent-pipelines/kernel/diagnostic"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
)

// Setting is something that a file of settings says and no nearer one says otherwise.
type Setting struct {
	Key string `json:"key"` // "providers.claude.model", with the provider's name, not an alias
	// Value is the setting as text. Of a provider's config only the names of its members are shown: it may
	// hold secrets.
	Value string `json:"value"`
	From  string `json:"from"` // where it stands, "file:line:column", or what said it in a file's place
}

// Settings are what the files of settings come to together.
type Settings struct {
	ProjectFile string    `json:"project_file"` // absolute paths of the two files, whether they exist or not
	UserFile    string    `json:"user_file"`
	Settings    []Setting `json:"settings"` // sorted by key
	// Warnings are what of the files has no effect.
	Warnings Diagnostics `json:"warnings,omitempty"`
}

// Settings shows what the project's and the user's config.yaml say, and which of them said it. It fails with
// [Diagnostics] if one of them has faults.
func (e *Engine) Settings(ctx context.Context) (*Settings, error) {
	providers, warnings, err := e.settings.assign(ctx, e.host)
	if err != nil {
		return nil, err
	}
	s := &Settings{
		ProjectFile: filepath.Join(e.config.workDir, settings.ProjectFile), UserFile: e.settings.userFile, Warnings: warnings,
	}
	s.list(e.settings.layers(), providers)
	return s, nil
}

// list lists what layers come to together, with what they say of providers.
func (s *Settings) list(layers settings.Layers, providers userConfigs) {
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
		s.notification(fmt.Sprint("notify.", i+1, "."), n)
	}
	for _, layer := range layers {
		s.add("mode", layer.Mode, layer.ModeAt)
		s.sandbox("sandbox", layer.Sandbox, layer.SandboxAt)
		for _, p := range layer.Providers {
			s.sandbox("providers."+p.Name+".sandbox", p.Sandbox, p.SandboxAt)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(providers)) {
		p := providers[name]
		s.add("providers."+name+".config", members(p.Config), p.ConfigAt)
		s.add("providers."+name+".model", p.Model, p.ModelAt)
	}
	slices.SortStableFunc(s.Settings, func(a, b Setting) int { return strings.Compare(a.Key, b.Key) })
}

// sandbox adds what is said of isolation, as JSON: the words of both files count together.
func (s *Settings) sandbox(key string, said *plan.Sandbox, at settings.Place) {
	if said == nil {
		return
	}
	b, err := json.Marshal(said)
	if err != nil {
		panic(fmt.Sprintf("kernel: a sandbox that is no JSON: %v", err))
	}
	s.add(key, string(b), at)
}

// notification adds what is said of an entry of notify.
func (s *Settings) notification(key string, n settings.Notification) {
	s.add(key+"action", n.Action, n.Keys["action"])
	s.add(key+"config", members(n.Config), n.Keys["config"])
	s.add(key+"on", pointWords(n.On), n.Keys["on"])
	s.add(key+"repeat", seconds(n.Repeat), n.Keys["repeat"])
	s.add(key+"timeout", seconds(n.Timeout), n.Keys["timeout"])
}

// pointWords are the points as text: "waiting, failed".
func pointWords(points []sdk.HookPoint) string {
	var all []string
	for _, p := range points {
		all = append(all, string(p))
	}
	return strings.Join(all, ", ")
}

// seconds is a time as the file has it, "" for none.
func seconds(d time.Duration) string {
	if d == 0 {
		return ""
	}
	return strconv.FormatFloat(d.Seconds(), 'f', -1, 64)
}

// add adds a setting that has a value.
func (s *Settings) add(key, value string, at settings.Place) {
	if value != "" {
		s.Settings = append(s.Settings, Setting{Key: key, Value: value, From: at.String()})
	}
}

// members are the names of an object's members: "{args, max_turns}", "" for no object.
func members(object json.RawMessage) string {
	var all map[string]json.RawMessage
	if json.Unmarshal(object, &all) != nil {
		return ""
	}
	return "{" + strings.Join(slices.Sorted(maps.Keys(all)), ", ") + "}"
}

// Layer is whose word a setting is.
type Layer string

// The layers of settings that lie in files, the one that wins first.
const (
	LayerProject Layer = "project"
	LayerUser    Layer = "user"
)

// Origin is a setting of one layer, as it stands there.
type Origin struct {
	Setting
	Layer Layer `json:"layer"`
	// Counts: it holds. Another layer's word on the same key is over one that does not.
	Counts bool `json:"counts"`
}

// Origins are all settings of all layers, sorted by key, the layer that wins first. It fails with [Diagnostics] if a file
// has faults.
func (e *Engine) Origins(ctx context.Context) ([]Origin, error) {
	s, err := e.Settings(ctx)
	if err != nil {
		return nil, err
	}
	catalog, err := newCatalog(ctx, e.host, nil)
	if err != nil {
		return nil, err
	}
	all := []Origin{}
	for _, l := range []struct {
		name Layer
		said settings.Settings
	}{{LayerProject, e.settings.project.Settings}, {LayerUser, e.settings.user.Settings}} {
		alone := settings.Layers{l.said}
		providers, _ := alone.Assign(catalog, nil) // what there is to say of it, the settings said
		var of Settings
		of.list(alone, providers)
		for _, row := range of.Settings {
			counts := slices.ContainsFunc(s.Settings, func(c Setting) bool { return c.From == row.From })
			all = append(all, Origin{row, l.name, counts})
		}
	}
	slices.SortStableFunc(all, func(a, b Origin) int { return strings.Compare(a.Key, b.Key) })
	return all, nil
}

// CheckSetting reports whether a name can be that of a setting; the error wraps [ErrOptions] and suggests one.
func CheckSetting(key string) error {
	if _, err := settings.ParseKey(key); err != nil {
		return fmt.Errorf("%w: %w", ErrOptions, err)
	}
	return nil
}

// SetSetting sets a key of the user's config.yaml, or of the project's, and makes the file if there is none. Comments and
// the other lines of the file stay. A text is taken as it is, other values are YAML. Nothing is written where the file has
// faults or would have some: the error is then [Diagnostics]. A key that does not exist is [ErrOptions]. This engine has
// read its settings before, and does not notice; the warnings are about the file as it is now.
func (e *Engine) SetSetting(ctx context.Context, layer Layer, key, value string) (Diagnostics, error) {
	k, err := settings.ParseKey(key)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrOptions, err)
	}
	var found diagnostic.List
	if layer == LayerProject {
		found, err = settings.SetProject(e.config.workDir, k, value)
	} else {
		found, err = settings.Set(filepath.Dir(e.settings.userFile), e.settings.foreign, k, value)
	}
	switch {
	case err != nil:
		return nil, err
	case found.HasErrors():
		return nil, found
	}
	now, err := e.config.readSettings()
	if err != nil {
		return nil, err
	}
	_, found, err = now.assign(ctx, e.host)
	return found, err
}

package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/dodo-digital/agent-pipelines/engine/internal/settings"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/kernel/store"
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
	Warnings Diagnostics `json:"warnings,omitempty"`
}

// Settings returns the merged settings of the project's and the user's config.yaml, each with its source. It
// fails with [Diagnostics] if a file has faults.
func (e *Engine) Settings(ctx context.Context) (*Settings, error) {
	providers, warnings, err := e.settings.assign(ctx, e.host)
	if err != nil {
		return nil, err
	}
	s := &Settings{
		ProjectFile: filepath.Join(e.config.workDir, settings.ProjectFile), UserFile: e.settings.userFile, Warnings: warnings,
	}
	s.collect(e.settings.layers(), providers)
	return s, nil
}

// collect lists the merged settings of layers, with the resolved provider entries.
func (s *Settings) collect(layers settings.Layers, providers providerConfigs) {
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
	s.add(key+"repeat", formatSeconds(n.Repeat), n.Keys["repeat"])
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

// SettingOrigins returns the settings of all layers, sorted by key, then by precedence. It fails with [Diagnostics]
// if a file has faults.
func (e *Engine) SettingOrigins(ctx context.Context) ([]SettingOrigin, error) {
	s, err := e.Settings(ctx)
	if err != nil {
		return nil, err
	}
	catalog, err := newCatalog(ctx, e.host, nil)
	if err != nil {
		return nil, err
	}
	all := []SettingOrigin{}
	for _, l := range []struct {
		name     Layer
		settings settings.Settings
	}{{LayerProject, e.settings.project.Settings}, {LayerUser, e.settings.user.Settings}} {
		alone := settings.Layers{l.settings}
		providers, _ := alone.Assign(catalog, nil) // e.Settings has reported the diagnostics
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

// CheckSetting reports whether a key names a setting; the error wraps [ErrOptions] and suggests a similar
// key.
func CheckSetting(key string) error {
	if _, err := settings.ParseKey(key); err != nil {
		return fmt.Errorf("%w: %w", ErrOptions, err)
	}
	return nil
}

// SetSetting sets a key in the user's or the project's config.yaml, creating the file if needed. Comments and
// other lines stay. A text value is taken literally; other values are YAML. If the file has faults, or would
// have, nothing is written and the error is [Diagnostics]. An unknown key is [ErrOptions]. This engine keeps
// its old settings; the warnings are about the new file.
func (e *Engine) SetSetting(ctx context.Context, layer Layer, key, value string) (Diagnostics, error) {
	k, err := settings.ParseKey(key)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrOptions, err)
	}
	var found yamldoc.Diagnostics
	if layer == LayerProject {
		found, err = settings.SetProject(e.config.workDir, k, value)
	} else {
		found, err = settings.Set(filepath.Dir(e.settings.userFile), e.settings.inProject, k, value)
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
// unattended run, as in CI, ignores the project's file. [Engine.Run] and [Engine.Preflight] report the faults
// of these files.
func (e *Engine) Background(unattended bool) Background {
	if e.settings.diagnostics().HasErrors() {
		return BackgroundUnset
	}
	if unattended {
		return e.settings.user.Background
	}
	b, _ := e.settings.layers().Background()
	return b
}

// BackgroundLogFile is the name of a [BackgroundLog] in the session's directory.
const BackgroundLogFile = "background.log"

// BackgroundLog receives the output of a session's process that has no terminal. Before the session exists
// the log is beside its directory, until [BackgroundLog.Keep]; a refused start therefore leaves no files. It
// is not safe for concurrent use.
type BackgroundLog struct {
	// File is the process's standard output and error.
	File *os.File

	project *store.Project
	session string
	name    string // relative to the project
	final   string // name of a kept log, relative to the project
	offset  int64  // size of the file when it was opened, in bytes
}

// OpenBackgroundLog creates the log of a session, or opens the existing one for appending. The caller closes
// it.
func (e *Engine) OpenBackgroundLog(session string) (*BackgroundLog, error) {
	if err := store.CheckSession(session); err != nil {
		return nil, err
	}
	dir := store.RunsDir + "/" + session
	l := &BackgroundLog{project: e.project, session: session, final: dir + "/" + BackgroundLogFile}
	l.name = l.final
	if _, err := e.project.Stat(dir); err != nil {
		l.name = fmt.Sprintf("%s/.%s-%s-%s", store.RunsDir, session, newID(), BackgroundLogFile)
	}
	var err error
	if l.File, err = e.project.OpenFile(l.name, os.O_CREATE|os.O_RDWR|os.O_APPEND); err != nil {
		return nil, err
	}
	info, err := l.File.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = errors.New("not a regular file")
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open %s: %w", l.Path(), err), l.File.Close())
	}
	l.offset = info.Size()
	return l, nil
}

// Path returns the current absolute path of the log.
func (l *BackgroundLog) Path() string { return l.project.Abs(l.name) }

// Keep moves the log of a started session into the session's directory. Open file descriptors stay valid.
func (l *BackgroundLog) Keep() error {
	if l.name == l.final {
		return nil
	}
	if err := l.project.Rename(l.name, l.final); err != nil {
		return err
	}
	l.name = l.final
	return nil
}

// Text returns the text written since the log was opened, at most its last 64 KiB.
func (l *BackgroundLog) Text() (string, error) {
	const most = 64 << 10
	info, err := l.File.Stat()
	if err != nil {
		return "", fmt.Errorf("read %s: %w", l.Path(), err)
	}
	from := max(l.offset, info.Size()-most)
	text, err := io.ReadAll(io.NewSectionReader(l.File, from, info.Size()-from))
	if err != nil {
		return "", fmt.Errorf("read %s: %w", l.Path(), err)
	}
	return string(text), nil
}

// Close closes the log and removes it unless it was kept.
func (l *BackgroundLog) Close() error {
	err := l.File.Close()
	if l.name != l.final {
		err = errors.Join(err, l.project.Remove(l.name))
	}
	return err
}

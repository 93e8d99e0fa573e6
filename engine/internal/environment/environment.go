package environment

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/dodo-digital/agent-pipelines/engine/internal/sandbox"
	"github.com/dodo-digital/agent-pipelines/engine/internal/settings"
	"github.com/dodo-digital/agent-pipelines/engine/internal/termination"
	"github.com/dodo-digital/agent-pipelines/kernel/compile"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/kernel/pluginhost"
	"github.com/dodo-digital/agent-pipelines/kernel/sources"
	"github.com/dodo-digital/agent-pipelines/kernel/store"
	"github.com/dodo-digital/agent-pipelines/kernel/yamldoc"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/redact"
)

// AllHooks selects the actions of all plugins.
const AllHooks = "all"

// Environment holds the shared parts of all sessions of an engine: its configuration, the settings files, the
// project and the plugin host. It is safe for concurrent use.
type Environment struct {
	Config   Config
	Log      hclog.Logger
	Redactor *redact.Redactor
	Project  *store.Project
	// Host describes components and owns the processes that sessions share. Each session has its own host for
	// the other processes.
	Host     *pluginhost.Host
	Settings Settings
}

// Open opens the project and reads the settings. It finds plugins, but starts none. The caller
// closes the environment.
func Open(c Config) (*Environment, error) {
	dir, err := filepath.Abs(c.WorkDir) // "" is the current directory
	if err != nil {
		return nil, fmt.Errorf("find the project: %w", err)
	}
	c.WorkDir = dir
	loaded, err := c.ReadSettings()
	if err != nil {
		return nil, err
	}
	project, err := store.OpenProject(dir)
	if err != nil {
		return nil, err
	}
	e := &Environment{Config: c, Log: c.Log, Redactor: c.newRedactor(loaded).WithoutPublicValues(dir, project.Path()), Project: project, Settings: loaded}
	if e.Host, err = e.NewHost(e.ProcessMarker(), nil); err != nil {
		return nil, errors.Join(err, project.Close())
	}
	if err := e.register(); err != nil {
		return nil, errors.Join(err, e.Close(context.Background()))
	}
	return e, nil
}

// Close closes the plugin host and the project.
func (e *Environment) Close(ctx context.Context) error {
	return errors.Join(e.Host.Close(ctx), e.Project.Close())
}

// newRedactor returns a redactor with the secrets of the user's environment and of the components' settings.
func (c *Config) newRedactor(s Settings) *redact.Redactor {
	secrets := slices.Clone(c.Environ)
	for _, p := range slices.Concat(s.Overrides, s.Project.Providers, s.User.Providers) {
		secrets = append(secrets, secretEntries("", p.Config)...)
	}
	for _, n := range s.Layers().Notify() {
		secrets = append(secrets, secretEntries("", n.Config)...)
	}
	return redact.New(secrets)
}

// plainWord matches words of letters, such as a plugin's setting (auth: oauth) or a variable's name.
// Redacting these would garble ordinary texts.
var plainWord = regexp.MustCompile(`^[A-Za-z][A-Za-z_-]{0,23}$`)

// secretEntries returns the texts of a JSON value as "name=value", with the name of the member that holds the text. A
// text that begins with a scheme, as in headers (Bearer ...), is also added without the scheme.
func secretEntries(name string, doc json.RawMessage) []string {
	var object map[string]json.RawMessage
	var list []json.RawMessage
	var text string
	var all []string
	switch {
	case json.Unmarshal(doc, &text) == nil:
		if strings.Contains(text, "${") || plainWord.MatchString(text) {
			return nil
		}
		all = append(all, name+"="+text)
		if _, rest, found := strings.Cut(text, " "); found {
			all = append(all, name+"="+rest)
		}
	case json.Unmarshal(doc, &object) == nil:
		for member, value := range object {
			all = append(all, secretEntries(member, value)...)
		}
	case json.Unmarshal(doc, &list) == nil:
		for _, value := range list {
			all = append(all, secretEntries(name, value)...)
		}
	}
	return all
}

// RedactDiagnostics removes secrets from diagnostics, which may quote files of the project, and completes the command
// lines and options in their hints.
func (e *Environment) RedactDiagnostics(ds yamldoc.Diagnostics) yamldoc.Diagnostics {
	clean := slices.Clone(ds)
	for i := range clean {
		clean[i].Message, clean[i].Hint = e.Redactor.Text(ds[i].Message), failure.Render(e.Redactor.Text(ds[i].Hint), e.Config.Program)
	}
	return clean
}

// register adds the built-in components and those of the options.
func (e *Environment) register() error {
	err := errors.Join(e.Host.RegisterTermination(termination.Fixed{}), e.Host.RegisterTermination(termination.Checks{}))
	for _, p := range e.Config.Providers {
		err = errors.Join(err, e.Host.RegisterProvider(p))
	}
	for _, t := range e.Config.Strategies {
		err = errors.Join(err, e.Host.RegisterTermination(t))
	}
	for _, a := range e.Config.Actions {
		err = errors.Join(err, e.Host.RegisterHookAction(a))
	}
	return err
}

// NewHost creates a plugin host whose processes carry the marker. It borrows in-process components and shared
// processes from the engine's own host, which is created first.
func (e *Environment) NewHost(marker string, notify func(pluginhost.Notice)) (*pluginhost.Host, error) {
	c := e.Config.Config
	c.RunMarker, c.Notify = marker, notify
	c.Logger, c.Redactor = e.Log.Named("plugin"), e.Redactor
	c.ProjectLock, c.Confiner = filepath.Join(c.WorkDir, projectLockFile), sandbox.New(e.Config.SandboxHelper)
	return pluginhost.New(c, e.Host)
}

// ProcessMarker returns the marker of the processes that sessions share, for their environment. No session's
// directory can have this path.
func (e *Environment) ProcessMarker() string { return e.Project.Abs(store.RunsDir + "/*") }

// projectLockFile is the project's lock file for plugins, in addition to the user's.
const projectLockFile = ".claude/plugins.lock"

// Roots returns the directories of pipelines and stages.
func (e *Environment) Roots() sources.Roots {
	return sources.Roots{Project: e.Config.WorkDir, Engine: e.Config.EngineRoot, Library: e.Config.Library}
}

// CompileRequest returns the compiler's request with the settings s as defaults.
func (e *Environment) CompileRequest(o plan.Overrides, c *Catalog, s Settings) compile.Request {
	o.Mode = plan.StricterMode(o.Mode, plan.StricterMode(s.User.Mode, s.Project.Mode))
	return compile.Request{
		Roots: e.Roots(), Now: time.Now(), Catalog: c, Defaults: s.Defaults(), DefaultProvider: e.Config.DefaultProvider, Overrides: o,
		OverrideLabel: func(name string) string { return failure.Render(failure.Option(name), e.Config.Program) },
	}
}

// Notifications returns the notify entries of the settings, none if the program turned them off.
func (e *Environment) Notifications() []settings.Notification {
	if e.Config.NoNotify {
		return nil
	}
	return e.Settings.Layers().Notify()
}

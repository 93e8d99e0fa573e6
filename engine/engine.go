package engine

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"

	"github.com/hashicorp/go-hclog"

	"github.com/dodo-digital/agent-pipelines/engine/internal/sandbox"
	"github.com/dodo-digital/agent-pipelines/engine/internal/termination"
	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/pluginhost"
	"github.com/dodo-digital/agent-pipelines/kernel/state"
	"github.com/dodo-digital/agent-pipelines/kernel/store"
	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/redact"
)

// Engine runs sessions of one project. It is safe for concurrent use with different sessions.
type Engine struct {
	config   config
	log      hclog.Logger
	redactor *redact.Redactor
	project  *store.Project
	// host describes components and owns the processes that sessions share. Each session has its own host for
	// the other processes.
	host        *pluginhost.Host
	settings    allSettings
	subscribers subscribers
	callbacks   callbacks

	mu     sync.Mutex // guards:
	active map[string]chan<- event.Event
}

// NewEngine creates an engine. It finds plugins, but starts none. The caller closes the engine.
func NewEngine(opts ...Option) (*Engine, error) {
	c := config{version: "unknown", log: hclog.NewNullLogger(), environ: os.Environ()}
	for _, o := range opts {
		o(&c)
	}
	dir, err := filepath.Abs(c.workDir) // "" is the current directory
	if err != nil {
		return nil, fmt.Errorf("find the project: %w", err)
	}
	c.workDir = dir
	loaded, err := c.readSettings()
	if err != nil {
		return nil, err
	}
	project, err := store.OpenProject(dir)
	if err != nil {
		return nil, err
	}
	e := &Engine{config: c, log: c.log, redactor: c.newRedactor(loaded).WithoutPublicValues(dir, project.Path()), project: project, settings: loaded, active: map[string]chan<- event.Event{}}
	if e.host, err = e.newHost(e.processMarker(), nil); err != nil {
		return nil, errors.Join(err, project.Close())
	}
	if err := e.register(); err != nil {
		return nil, errors.Join(err, e.host.Close(context.Background()), project.Close())
	}
	return e, nil
}

// register adds the built-in components and those of the options.
func (e *Engine) register() error {
	err := errors.Join(e.host.RegisterTermination(termination.Fixed{}), e.host.RegisterTermination(termination.Checks{}))
	for _, p := range e.config.providers {
		err = errors.Join(err, e.RegisterProvider(p))
	}
	for _, t := range e.config.strategies {
		if t == nil {
			return errors.Join(err, fmt.Errorf("%w: termination strategy is nil", ErrOptions))
		}
		err = errors.Join(err, e.host.RegisterTermination(t))
	}
	for _, a := range e.config.actions {
		if a == nil {
			return errors.Join(err, fmt.Errorf("%w: hook action is nil", ErrOptions))
		}
		err = errors.Join(err, e.host.RegisterHookAction(a))
	}
	return err
}

// RegisterProvider adds an in-process provider, as [WithProvider] does, for runs that begin later. Its name
// comes from Describe; a name in use is an error.
//
// All sessions share the provider. Init is called once before its first use, Shutdown by [Engine.Close]. A
// serial provider has one call at a time across sessions. The provider must end the processes that it starts;
// the kernel does so for plugins only.
func (e *Engine) RegisterProvider(p sdk.Provider) error {
	if p == nil {
		return fmt.Errorf("%w: provider is nil", ErrOptions)
	}
	return e.host.RegisterProvider(p)
}

// processMarker identifies the processes that sessions share, by an environment variable. No session can have
// this name.
func (e *Engine) processMarker() string { return e.project.Abs(store.RunsDir + "/*") }

// newHost creates a plugin host whose processes carry the marker. It borrows in-process components and shared
// processes from the engine's own host, which is created first.
func (e *Engine) newHost(marker string, notify func(pluginhost.Notice)) (*pluginhost.Host, error) {
	c := e.config
	return pluginhost.New(pluginhost.Config{
		PluginDirs: c.pluginDirs, ConfigDir: c.configDir, CacheDir: c.cacheDir, Executable: c.executable,
		Bundled: c.bundled, BundledOff: c.bundledOff, Reattach: c.reattach,
		WorkDir: c.workDir, RunMarker: marker, Environ: c.environ, Logger: e.log.Named("plugin"), PluginLogger: c.pluginLog, Redactor: e.redactor, Notify: notify,
		Shared: e.host, ProjectLock: filepath.Join(c.workDir, projectLockFile),
		Confiner: sandbox.New(c.sandboxHelper),
	})
}

// Close closes the plugin host and all subscriptions. Running sessions continue until their Run or Resume
// returns; end those first.
func (e *Engine) Close(ctx context.Context) error {
	e.subscribers.closeAll()
	return errors.Join(e.host.Close(ctx), e.project.Close())
}

// PluginHost returns the plugins of the engine: it lists, locks, installs and removes them, and keeps the
// trusted directories. Changes affect engines created later. [Engine.Close] closes it.
func (e *Engine) PluginHost() *pluginhost.Host { return e.host }

// WorkDir returns the absolute path of the project.
func (e *Engine) WorkDir() string { return e.config.workDir }

// Stop asks a session running in this engine to pause after the current iteration; for a pause of kind signal
// the iteration has 30 seconds. Other sessions are not affected.
func (e *Engine) Stop(session string, kind state.PauseKind, reason string) {
	e.sendControl(session, event.New(event.Control, nil, "", event.ControlData{
		ID: newID(), Action: "pause", Kind: string(kind), Reason: reason,
	}))
}

// sendControl passes a control event to a session running in this engine and reports whether it was accepted.
func (e *Engine) sendControl(session string, ev event.Event) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	c, running := e.active[session]
	if !running {
		return false
	}
	select {
	case c <- ev:
		return true
	default: // the queue is full: the caller posts to the inbox, where nothing is lost
		return false
	}
}

// activate registers a running session; the returned function removes it.
func (e *Engine) activate(session string) (<-chan event.Event, func(), error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if _, running := e.active[session]; running {
		return nil, nil, runsHereError(session)
	}
	c := make(chan event.Event, 16)
	e.active[session] = c
	return c, func() {
		e.mu.Lock()
		defer e.mu.Unlock()
		delete(e.active, session)
	}, nil
}

// isRunning reports whether a session runs in this engine.
func (e *Engine) isRunning(session string) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	_, running := e.active[session]
	return running
}

func (e *Engine) sessionDir(session string) string {
	return e.project.Abs(store.RunsDir + "/" + session)
}

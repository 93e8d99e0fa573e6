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
	// host answers questions about components, and has the processes that sessions share; each session has a host of its own for
	// the others.
	host        *pluginhost.Host
	settings    allSettings
	subscribers subscribers
	callbacks   callbacks

	mu     sync.Mutex // guards:
	active map[string]chan<- event.Event
}

// NewEngine makes an engine. It looks for plugins and starts none. The caller closes it.
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
	said, err := c.readSettings()
	if err != nil {
		return nil, err
	}
	project, err := store.OpenProject(dir)
	if err != nil {
		return nil, err
	}
	e := &Engine{config: c, log: c.log, redactor: c.redactor(said).Sparing(dir, project.Path()), project: project, settings: said, active: map[string]chan<- event.Event{}}
	if e.host, err = e.newHost(e.marker(), nil); err != nil {
		return nil, errors.Join(err, project.Close())
	}
	if err := e.register(); err != nil {
		return nil, errors.Join(err, e.host.Close(context.Background()), project.Close())
	}
	return e, nil
}

// register adds the components of this process that the kernel brings and those of the options.
func (e *Engine) register() error {
	err := errors.Join(e.host.RegisterTermination(termination.Fixed{}), e.host.RegisterTermination(termination.Checks{}))
	for _, p := range e.config.providers {
		err = errors.Join(err, e.RegisterProvider(p))
	}
	for _, t := range e.config.strategies {
		if t == nil {
			return errors.Join(err, fmt.Errorf("%w: a termination strategy that is nil", ErrOptions))
		}
		err = errors.Join(err, e.host.RegisterTermination(t))
	}
	for _, a := range e.config.actions {
		if a == nil {
			return errors.Join(err, fmt.Errorf("%w: a hook action that is nil", ErrOptions))
		}
		err = errors.Join(err, e.host.RegisterHookAction(a))
	}
	return err
}

// RegisterProvider adds a provider of this process, as [WithProvider] does, to an engine that is there
// already: for the runs that begin from now on. Its name is the one that its Describe gives; one that
// another registered provider has is an error. All sessions of the engine share it: its Init is called once,
// before its first use, its Shutdown by [Engine.Close], and if it is declared serial it has one call at a
// time, whichever session makes it. It must end by itself whatever it starts: the kernel only does so for
// plugins.
func (e *Engine) RegisterProvider(p sdk.Provider) error {
	if p == nil {
		return fmt.Errorf("%w: a provider that is nil", ErrOptions)
	}
	return e.host.RegisterProvider(p)
}

// marker names what sessions share in the environment of all that it starts. No session has the name.
func (e *Engine) marker() string { return e.project.Abs(store.RunsDir + "/*") }

// newHost makes a plugin host whose processes carry the marker. The components of this process, and the
// processes that are shared, are those of the engine's own host, the first.
func (e *Engine) newHost(marker string, notify func(pluginhost.Notice)) (*pluginhost.Host, error) {
	c := e.config
	return pluginhost.New(pluginhost.Config{
		PluginDirs: c.pluginDirs, ConfigDir: c.configDir, CacheDir: c.cacheDir, Executable: c.executable,
		Bundled: c.bundled, BundledOff: c.bundledOff, Reattach: c.reattach,
		WorkDir: c.workDir, RunMarker: marker, Environ: c.environ, Logger: e.log.Named("plugin"), PluginLogger: c.pluginLog, Redactor: e.redactor, Notify: notify,
		Shared: e.host, ProjectLock: filepath.Join(c.workDir, projectLock),
		Confiner: sandbox.New(c.sandboxHelper),
	})
}

// Close ends what the engine holds and closes its subscriptions. Sessions that run go on until their
// Run or Resume returns; end those first.
func (e *Engine) Close(ctx context.Context) error {
	e.subscribers.closeAll()
	return errors.Join(e.host.Close(ctx), e.project.Close())
}

// WorkDir is the absolute path of the project.
func (e *Engine) WorkDir() string { return e.config.workDir }

// Stop asks a session that runs in this engine to pause. The running iteration may finish; for a
// pause of kind signal it has 30 seconds. A session that does not run here is left alone.
func (e *Engine) Stop(session string, kind state.PauseKind, reason string) {
	e.control(session, event.New(event.Control, nil, "", event.ControlData{
		ID: newID(), Action: "pause", Kind: string(kind), Reason: reason,
	}))
}

// control hands a control event to a session that runs in this engine and reports whether that will take it up.
func (e *Engine) control(session string, ev event.Event) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	c, running := e.active[session]
	if !running {
		return false
	}
	select {
	case c <- ev:
		return true
	default: // so many wait already: the caller leaves it in the inbox, where it is not lost
		return false
	}
}

// activate registers a session that runs here; the returned function takes it back.
func (e *Engine) activate(session string) (<-chan event.Event, func(), error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if _, running := e.active[session]; running {
		return nil, nil, runsHere(session)
	}
	c := make(chan event.Event, 16)
	e.active[session] = c
	return c, func() {
		e.mu.Lock()
		defer e.mu.Unlock()
		delete(e.active, session)
	}, nil
}

// runs reports whether a session runs in this engine.
func (e *Engine) runs(session string) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	_, running := e.active[session]
	return running
}

func (e *Engine) dirOf(session string) string { return e.project.Abs(store.RunsDir + "/" + session) }

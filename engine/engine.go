package engine

import (
	"context"
	"os"
	"sync"

	"github.com/hashicorp/go-hclog"

	"github.com/dodo-digital/agent-pipelines/engine/authoring"
	"github.com/dodo-digital/agent-pipelines/engine/internal/environment"
	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/pluginhost"
	"github.com/dodo-digital/agent-pipelines/kernel/state"
	"github.com/dodo-digital/agent-pipelines/kernel/store"
	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
)

// Engine runs sessions of one project. It is safe for concurrent use with different sessions.
type Engine struct {
	env         *environment.Environment
	project     *store.Project // of env
	log         hclog.Logger
	subscribers subscribers
	callbacks   callbacks

	mu     sync.Mutex // guards:
	active map[string]chan<- event.Event
}

// NewEngine creates an engine. It finds plugins, but starts none. The caller closes the engine.
func NewEngine(opts ...Option) (*Engine, error) {
	c := environment.Config{Version: "unknown", Log: hclog.NewNullLogger(), Environ: os.Environ()}
	for _, o := range opts {
		o(&c)
	}
	env, err := environment.Open(c)
	if err != nil {
		return nil, err
	}
	return &Engine{env: env, project: env.Project, log: env.Log, active: map[string]chan<- event.Event{}}, nil
}

// RegisterProvider adds an in-process provider, as [WithProvider] does, for runs that begin later. Its name
// comes from Describe; a name in use is an error.
//
// All sessions share the provider. Init is called once before its first use, Shutdown by [Engine.Close]. A
// serial provider has one call at a time across sessions. The provider must end the processes that it starts;
// the kernel does so for plugins only.
func (e *Engine) RegisterProvider(p sdk.Provider) error {
	return e.env.RegisterProvider(p)
}

// Close closes the plugin host and all subscriptions. Running sessions continue until their Run or Resume
// returns; end those first.
func (e *Engine) Close(ctx context.Context) error {
	e.subscribers.closeAll()
	return e.env.Close(ctx)
}

// PluginHost returns the plugins of the engine: it lists, locks, installs and removes them, and keeps the
// trusted directories. Changes affect engines created later. [Engine.Close] closes it.
func (e *Engine) PluginHost() *pluginhost.Host { return e.env.Host }

// Authoring returns the project's pipelines, stages and settings, for checking and listing them.
func (e *Engine) Authoring() authoring.Project { return authoring.New(e.env) }

// WorkDir returns the absolute path of the project.
func (e *Engine) WorkDir() string { return e.env.Config.WorkDir }

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

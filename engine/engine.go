package engine

import (
	"context"
	"os"

	"github.com/hashicorp/go-hclog"

	"github.com/dodo-digital/agent-pipelines/engine/authoring"
	"github.com/dodo-digital/agent-pipelines/engine/inspect"
	"github.com/dodo-digital/agent-pipelines/engine/internal/environment"
	"github.com/dodo-digital/agent-pipelines/engine/internal/messages"
	"github.com/dodo-digital/agent-pipelines/engine/internal/session"
	"github.com/dodo-digital/agent-pipelines/kernel/pluginhost"
	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
)

// Engine runs sessions of one project. It is safe for concurrent use with different sessions.
type Engine struct {
	Hooks
	inspect.Inspector
	env         *environment.Environment
	subscribers subscribers
	sessions    *session.Supervisor
	messages    messages.Sender
}

// NewEngine creates an engine. It finds plugins, but starts none. The caller closes the engine.
func NewEngine(opts ...Option) (*Engine, error) {
	c := environment.Config{Version: "unknown", Log: hclog.NewNullLogger(), Config: pluginhost.Config{Environ: os.Environ()}}
	for _, o := range opts {
		o(&c)
	}
	env, err := environment.Open(c)
	if err != nil {
		return nil, err
	}
	e := &Engine{env: env, Inspector: inspect.New(env)}
	e.sessions = session.NewSupervisor(env, e.subscribers.send)
	e.messages = messages.NewSender(e.sessions, env)
	return e, nil
}

// RegisterProvider adds an in-process provider, as [WithProvider] does, for runs that begin later. The provider's
// name comes from Describe; a name in use is an error.
//
// All sessions share the provider. Init is called once before its first use, Shutdown by [Engine.Close]. A
// serial provider has one call at a time across sessions. The provider must end the processes that it starts;
// the kernel does so for plugins only.
func (e *Engine) RegisterProvider(p sdk.Provider) error {
	return e.env.Host.RegisterProvider(p)
}

// Close closes the plugin host and all subscriptions. It does not end running sessions: wait first until their Run
// or Resume has returned.
func (e *Engine) Close(ctx context.Context) error {
	e.subscribers.closeAll()
	return e.env.Close(ctx)
}

// PluginHost returns the host of the engine's plugins, which also keeps their locks and the trusted directories. Changes
// affect engines created later. [Engine.Close] closes the host.
func (e *Engine) PluginHost() *pluginhost.Host { return e.env.Host }

// Authoring returns the project's pipelines, stages and settings, for checking and listing them.
func (e *Engine) Authoring() authoring.Project { return authoring.New(e.env) }

// WorkDir returns the absolute path of the project.
func (e *Engine) WorkDir() string { return e.env.Config.WorkDir }

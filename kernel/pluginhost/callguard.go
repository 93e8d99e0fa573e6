package pluginhost

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"sync"

	"github.com/dodo-digital/agent-pipelines/kernel/failpoint"
	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
)

// callGuard calls one component of one process in the order that the contract promises. Init comes once and first,
// Validate before the first use of a configuration, and a serial component gets one call at a time. This holds for
// plugins and for components of this process. It is safe for concurrent use.
type callGuard struct {
	component sdk.Component
	target    any
	request   sdk.InitRequest
	setup     chan struct{} // holds a token while Init or Validate runs
	turns     chan struct{} // holds a token during a call of a serial component, nil otherwise

	mu    sync.Mutex
	ready bool
	valid map[[sha256.Size]byte]bool
}

// newCallGuard returns the guard of target, which implements the interface of the component's kind.
func newCallGuard(component sdk.Component, target any, init sdk.InitRequest) *callGuard {
	g := &callGuard{
		component: component, target: target, request: init,
		setup: make(chan struct{}, 1), valid: map[[sha256.Size]byte]bool{},
	}
	if component.Concurrency == sdk.ConcurrencySerial {
		g.turns = make(chan struct{}, 1)
	}
	return g
}

// Target returns the component.
func (g *callGuard) Target() any { return g.target }

// Call makes one call with the configuration: it waits for the component's turn, initializes and validates if
// necessary, and makes the call. A refusal by Init or Validate is returned as a failure, config_invalid by default. The
// next call tries again, because the user may have repaired the cause.
func (g *callGuard) Call(ctx context.Context, with sdk.ValidateRequest, call func(context.Context) error) error {
	if g.turns != nil {
		resume := PauseCallTimeout(ctx) // the call has its whole time, even if earlier calls take long
		err := acquireToken(ctx, g.turns)
		resume()
		if err != nil {
			return err
		}
		defer func() { <-g.turns }()
	}
	if err := g.prepare(ctx, with); err != nil {
		return err
	}
	return call(ctx)
}

// Init initializes the component without validating anything.
func (g *callGuard) Init(ctx context.Context) error {
	if err := acquireToken(ctx, g.setup); err != nil {
		return err
	}
	defer func() { <-g.setup }()
	return g.initOnce(ctx)
}

func (g *callGuard) prepare(ctx context.Context, with sdk.ValidateRequest) error {
	id := configDigest(with)
	if g.isPrepared(id) {
		return nil
	}
	if err := acquireToken(ctx, g.setup); err != nil {
		return err
	}
	defer func() { <-g.setup }()
	if err := g.initOnce(ctx); err != nil || g.isPrepared(id) {
		return err
	}
	if v, ok := g.target.(sdk.Validator); ok {
		failpoint.Point("plugin.validate.before")
		err := v.Validate(ctx, with)
		failpoint.Point("plugin.validate.after")
		if err != nil {
			return g.setupError(ctx, "refuses its configuration", err)
		}
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.valid[id] = true
	return nil
}

func (g *callGuard) initOnce(ctx context.Context) error {
	g.mu.Lock()
	ready := g.ready
	g.mu.Unlock()
	if ready {
		return nil
	}
	if i, ok := g.target.(sdk.Initializer); ok {
		failpoint.Point("plugin.init.before")
		err := i.Init(ctx, g.request)
		failpoint.Point("plugin.init.after")
		if err != nil {
			return g.setupError(ctx, "cannot be set up", err)
		}
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.ready = true
	return nil
}

func (g *callGuard) isPrepared(id [sha256.Size]byte) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.ready && g.valid[id]
}

// setupError turns an error of Init or Validate into a failure. It does not change a failure, nor any error under a
// cancelled context.
func (g *callGuard) setupError(ctx context.Context, how string, err error) error {
	var f *failure.Error
	if errors.As(err, &f) || ctx.Err() != nil {
		return err
	}
	return failure.New(failure.ConfigInvalid, "%s %s %s: %w", g.component.Kind, g.component.Name, how, err)
}

func acquireToken(ctx context.Context, token chan<- struct{}) error {
	select {
	case token <- struct{}{}:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func configDigest(with sdk.ValidateRequest) [sha256.Size]byte {
	return sha256.Sum256(fmt.Appendf(nil, "%q %q %s", with.Model, with.Mode, with.Config))
}

// Shutdown releases the resources of a component that was initialized.
func (g *callGuard) Shutdown(ctx context.Context) error {
	g.mu.Lock()
	ready := g.ready
	g.ready = false
	g.mu.Unlock()
	if s, ok := g.target.(sdk.Shutdowner); ok && ready {
		return s.Shutdown(ctx)
	}
	return nil
}

// invocation makes a call through the component's guard.
type invocation func(ctx context.Context, g *callGuard) error

package serve

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"

	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/internal/describe"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/internal/wire"
	pb "github.com/dodo-digital/agent-pipelines/plugin-sdk/internal/wire/pluginv1"
)

// Exit codes of a plugin binary.
const (
	exitOK      = 0
	exitInvalid = 1 // the plugin is invalid: its author's mistake
	exitUsage   = 2 // started by the user, or with unknown arguments
)

// options are the settings that tests can change.
type options struct {
	heartbeat time.Duration
	grace     time.Duration // time for components to end
	log       hclog.Logger
}

func defaultOptions() options {
	return options{heartbeat: 5 * time.Second, grace: 2 * time.Second, log: hclog.NewNullLogger()}
}

// server holds the components of one plugin and implements the protocol's four services. It is safe
// for concurrent use.
type server struct {
	options
	description sdk.Description
	components  []*component
	calls       calls
	shutdown    sync.Once
	closing     sync.WaitGroup // running shutdowns; a shutdown that hangs ends with the process
}

// newServer checks the plugin's description and prepares its components.
func newServer(p sdk.Plugin, o options) (*server, error) {
	d, err := describe.Build(p)
	if err != nil {
		return nil, err
	}
	s := &server{options: o, description: d}
	for _, c := range p.Providers {
		s.add(sdk.KindProvider, c.Describe(), c)
	}
	for _, c := range p.Terminations {
		s.add(sdk.KindTermination, c.Describe(), c)
	}
	for _, c := range p.HookActions {
		s.add(sdk.KindHookAction, c.Describe(), c)
	}
	return s, nil
}

func (s *server) add(kind sdk.Kind, d sdk.Component, impl any) {
	c := &component{ref: wire.Ref{Kind: kind, Name: d.Name}, impl: impl}
	if d.Concurrency == sdk.ConcurrencySerial {
		c.turn = make(chan struct{}, 1)
	}
	s.components = append(s.components, c)
}

// find returns the component that a request names.
func (s *server) find(m *pb.ComponentRef) (*component, error) {
	ref := wire.Decode[wire.Ref](m)
	for _, c := range s.components {
		if c.ref == ref {
			return c, nil
		}
	}
	return nil, unknownComponent(s.description.Name, m)
}

// shutdownComponents ends the calls and then calls Shutdown of each component, once. Each of the
// two steps gets the grace.
func (s *server) shutdownComponents() {
	s.shutdown.Do(func() {
		if !s.calls.end(errors.New("the plugin is shutting down"), s.grace) {
			s.log.Warn("a call did not end when it was cancelled", "grace", s.grace)
		}
		ctx, cancel := context.WithTimeout(context.Background(), s.grace)
		defer cancel()
		done := make(chan struct{})
		s.closing.Go(func() {
			defer close(done)
			s.shutdownEach(ctx)
		})
		select {
		case <-done:
		case <-ctx.Done():
			s.log.Warn("a component did not shut down", "grace", s.grace)
		}
	})
}

// shutdownEach shuts the components down one by one.
func (s *server) shutdownEach(ctx context.Context) {
	for _, c := range s.components {
		impl, ok := c.impl.(sdk.Shutdowner)
		if !ok {
			continue
		}
		if err := c.guard(func() error { return impl.Shutdown(ctx) }); err != nil {
			s.log.Warn("shutdown failed", "kind", c.ref.Kind, "component", c.ref.Name, "error", err)
		}
	}
}

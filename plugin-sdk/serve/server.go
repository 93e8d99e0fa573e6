package serve

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"
	goplugin "github.com/hashicorp/go-plugin"
	"google.golang.org/grpc"

	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/internal/describe"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/internal/wire"
	pb "github.com/dodo-digital/agent-pipelines/plugin-sdk/internal/wire/pluginv1"
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
	closing     sync.WaitGroup // running shutdowns; one that hangs ends with the process
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
	ref := wire.FromRef(m)
	for _, c := range s.components {
		if c.ref == ref {
			return c, nil
		}
	}
	return nil, unknownComponent(s.description.Name, m)
}

// register registers the services with a gRPC server.
func (s *server) register(r grpc.ServiceRegistrar) {
	pb.RegisterPluginServer(r, &pluginService{server: s})
	pb.RegisterProviderServer(r, &providerService{server: s})
	pb.RegisterTerminationServer(r, &terminationService{server: s})
	pb.RegisterHookActionServer(r, &hookService{server: s})
}

// shutdownComponents calls Shutdown of each component once, within the grace for all of them.
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

// grpcPlugin implements go-plugin's plugin interface.
type grpcPlugin struct {
	goplugin.NetRPCUnsupportedPlugin
	server *server
}

// GRPCServer registers the services.
func (p *grpcPlugin) GRPCServer(_ *goplugin.GRPCBroker, g *grpc.Server) error {
	p.server.register(g)
	return nil
}

// GRPCClient implements go-plugin's interface; this end has no client.
func (p *grpcPlugin) GRPCClient(context.Context, *goplugin.GRPCBroker, *grpc.ClientConn) (any, error) {
	return nil, fmt.Errorf("plugin %s: the serving end has no client", p.server.description.Name)
}

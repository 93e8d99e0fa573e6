package serve

import (
	"context"
	"fmt"

	"google.golang.org/grpc"

	goplugin "github.com/hashicorp/go-plugin"

	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/internal/wire"
	pb "github.com/dodo-digital/agent-pipelines/plugin-sdk/internal/wire/pluginv1"
)

// pluginService serves the calls on the whole plugin and the calls that components of all kinds have.
type pluginService struct {
	pb.UnimplementedPluginServer
	server *server
}

func (s *pluginService) Describe(context.Context, *pb.DescribeRequest) (*pb.DescribeResponse, error) {
	return wire.Encode[pb.DescribeResponse](s.server.description), nil
}

func (s *pluginService) Init(ctx context.Context, m *pb.InitRequest) (*pb.InitResponse, error) {
	f := invoke(ctx, s.server, m.GetComponent(), func(ctx context.Context, c sdk.Initializer) error {
		return c.Init(ctx, wire.Decode[sdk.InitRequest](m))
	})
	return &pb.InitResponse{Failure: f}, nil
}

func (s *pluginService) Validate(ctx context.Context, m *pb.ValidateRequest) (*pb.ValidateResponse, error) {
	f := invoke(ctx, s.server, m.GetComponent(), func(ctx context.Context, c sdk.Validator) error {
		if err := c.Validate(ctx, wire.Decode[sdk.ValidateRequest](m)); err != nil {
			return failureOr(err, failure.ConfigInvalid)
		}
		return nil
	})
	return &pb.ValidateResponse{Failure: f}, nil
}

func (s *pluginService) Examine(ctx context.Context, m *pb.ExamineRequest) (*pb.ExamineResponse, error) {
	response := &pb.ExamineResponse{}
	response.Failure = invoke(ctx, s.server, m.GetComponent(), func(ctx context.Context, c sdk.Diagnoser) error {
		findings, err := c.Diagnose(ctx, wire.Decode[sdk.ValidateRequest](m))
		for _, f := range findings {
			response.Findings = append(response.Findings, wire.Encode[pb.Finding](f))
		}
		return err
	})
	return response, nil
}

func (s *pluginService) Health(context.Context, *pb.HealthRequest) (*pb.HealthResponse, error) {
	return &pb.HealthResponse{}, nil
}

func (s *pluginService) Shutdown(context.Context, *pb.ShutdownRequest) (*pb.ShutdownResponse, error) {
	s.server.shutdownComponents()
	return &pb.ShutdownResponse{}, nil
}

// terminationService serves the termination strategies.
type terminationService struct {
	pb.UnimplementedTerminationServer
	server *server
}

func (s *terminationService) Decide(ctx context.Context, m *pb.DecideRequest) (*pb.DecideResponse, error) {
	var decision sdk.Decision
	f := invoke(ctx, s.server, m.GetComponent(), func(ctx context.Context, c sdk.Termination) (err error) {
		decision, err = c.Decide(ctx, wire.Decode[sdk.DecideRequest](m))
		return err
	})
	response := wire.Encode[pb.DecideResponse](decision)
	response.Failure = f
	return response, nil
}

func (s *terminationService) Release(ctx context.Context, m *pb.ReleaseRequest) (*pb.ReleaseResponse, error) {
	f := invoke(ctx, s.server, m.GetComponent(), func(ctx context.Context, c sdk.Releaser) error { return c.Release(ctx, m.GetSession()) })
	return &pb.ReleaseResponse{Failure: f}, nil
}

// hookService serves the hook actions.
type hookService struct {
	pb.UnimplementedHookActionServer
	server *server
}

func (s *hookService) Run(ctx context.Context, m *pb.HookRequest) (*pb.HookResponse, error) {
	var reply sdk.HookAnswer
	f := invoke(ctx, s.server, m.GetComponent(), func(ctx context.Context, c sdk.HookAction) (err error) {
		reply, err = c.Run(ctx, wire.Decode[sdk.HookRequest](m))
		return err
	})
	response := wire.Encode[pb.HookResponse](reply)
	response.Failure = f
	return response, nil
}

// invoke makes one call on the component that a request names. It returns nil if the component lacks the method.
func invoke[T any](ctx context.Context, s *server, ref *pb.ComponentRef, work func(context.Context, T) error) *pb.Failure {
	c, err := s.find(ref)
	if err != nil {
		return wire.FailurePB(failure.From(err))
	}
	impl, ok := c.impl.(T)
	if !ok {
		return nil
	}
	err = s.unary(ctx, c, func(ctx context.Context) error { return work(ctx, impl) })
	return wire.FailurePB(c.toFailure(err))
}

// unary makes one call on a component and tracks it in the server's calls.
func (s *server) unary(ctx context.Context, c *component, work func(context.Context) error) error {
	ctx, cancel := context.WithCancelCause(s.calls.groups.Context(wire.Incoming(ctx)))
	defer cancel(nil)
	done, err := s.calls.begin(cancel)
	if err != nil {
		return err
	}
	defer done()
	return c.call(ctx, func() error { return work(ctx) })
}

// register registers the services with a gRPC server.
func (s *server) register(r grpc.ServiceRegistrar) {
	pb.RegisterPluginServer(r, &pluginService{server: s})
	pb.RegisterProviderServer(r, &providerService{server: s})
	pb.RegisterTerminationServer(r, &terminationService{server: s})
	pb.RegisterHookActionServer(r, &hookService{server: s})
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

// config returns go-plugin's configuration, with further options for the gRPC server.
func (s *server) config(further []grpc.ServerOption) *goplugin.ServeConfig {
	return &goplugin.ServeConfig{
		HandshakeConfig: goplugin.HandshakeConfig{MagicCookieKey: wire.CookieKey, MagicCookieValue: wire.CookieValue},
		VersionedPlugins: map[int]goplugin.PluginSet{
			wire.Protocol: {wire.PluginSet: &grpcPlugin{server: s}},
		},
		GRPCServer: func(opts []grpc.ServerOption) *grpc.Server {
			return grpc.NewServer(append(append(opts, limits()...), further...)...)
		},
		Logger: s.log,
	}
}

// limits raises gRPC's message limit of 4 MiB and fixes the windows, which gRPC otherwise estimates
// with pings. One worker goroutine is reused for successive calls, because its stack has already
// grown.
func limits() []grpc.ServerOption {
	return []grpc.ServerOption{
		grpc.MaxRecvMsgSize(wire.MaxMessage), grpc.MaxSendMsgSize(wire.MaxMessage),
		grpc.InitialWindowSize(wire.Window), grpc.InitialConnWindowSize(wire.Window),
		grpc.NumStreamWorkers(1),
	}
}

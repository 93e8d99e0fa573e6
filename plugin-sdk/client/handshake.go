package client

import (
	"context"
	"errors"

	goplugin "github.com/hashicorp/go-plugin"
	"google.golang.org/grpc"

	"github.com/dodo-digital/agent-pipelines/plugin-sdk/internal/wire"
)

// Handshake is the cookie of all plugins, in every protocol version.
func Handshake() goplugin.HandshakeConfig {
	return goplugin.HandshakeConfig{MagicCookieKey: wire.CookieKey, MagicCookieValue: wire.CookieValue}
}

// LogLevelVariable is the environment variable by which a plugin is told which lines are wanted on its stderr:
// trace, debug, info, warn, error or off.
const LogLevelVariable = wire.LogLevel

// ReattachVariable is the environment variable by which a user tells the kernel of plugin processes that run already:
// the line that `agent-plugin-x debug` prints.
const ReattachVariable = wire.Reattach

// PluginSets are the protocol majors that this client speaks, for ClientConfig.VersionedPlugins.
func PluginSets() map[int]goplugin.PluginSet {
	return map[int]goplugin.PluginSet{wire.Protocol: {wire.PluginSet: &grpcPlugin{}}}
}

// DialOptions set the protocol's message limit of 64 MiB, for ClientConfig.GRPCDialOptions, and windows of 1 MiB, which are
// otherwise measured by a ping for what comes; and let each call carry its place in the trace ([sdk.TraceParent]).
func DialOptions() []grpc.DialOption {
	return []grpc.DialOption{
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(wire.MaxMessage), grpc.MaxCallSendMsgSize(wire.MaxMessage)),
		grpc.WithInitialWindowSize(wire.Window), grpc.WithInitialConnWindowSize(wire.Window),
		grpc.WithUnaryInterceptor(func(ctx context.Context, method string, req, reply any, cc *grpc.ClientConn, call grpc.UnaryInvoker, opts ...grpc.CallOption) error {
			return call(wire.Outgoing(ctx), method, req, reply, cc, opts...)
		}),
		grpc.WithStreamInterceptor(func(ctx context.Context, desc *grpc.StreamDesc, cc *grpc.ClientConn, method string, call grpc.Streamer, opts ...grpc.CallOption) (grpc.ClientStream, error) {
			return call(wire.Outgoing(ctx), desc, cc, method, opts...)
		}),
	}
}

// grpcPlugin hands the bare connection through go-plugin.
type grpcPlugin struct {
	goplugin.NetRPCUnsupportedPlugin
}

// GRPCServer is not used at this end.
func (*grpcPlugin) GRPCServer(*goplugin.GRPCBroker, *grpc.Server) error {
	return errors.New("package client serves no plugin; use package serve")
}

// GRPCClient gives the connection to [New].
func (*grpcPlugin) GRPCClient(_ context.Context, _ *goplugin.GRPCBroker, conn *grpc.ClientConn) (any, error) {
	return conn, nil
}

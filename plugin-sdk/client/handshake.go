package client

import (
	"context"
	"crypto/tls"
	"errors"

	goplugin "github.com/hashicorp/go-plugin"
	"google.golang.org/grpc"

	"github.com/dodo-digital/agent-pipelines/plugin-sdk/internal/mutualtls"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/internal/wire"
)

// Handshake returns the cookie of all plugins, in every protocol version.
func Handshake() goplugin.HandshakeConfig {
	return goplugin.HandshakeConfig{MagicCookieKey: wire.CookieKey, MagicCookieValue: wire.CookieValue}
}

// MutualTLS returns a new ClientConfig.TLSConfig for one plugin process and the variable that the process
// needs in its environment. It stands for ClientConfig.AutoMTLS, which works with the same plugins and takes
// longer.
func MutualTLS() (config *tls.Config, variable string, err error) {
	config, kernel, err := mutualtls.Kernel()
	return config, mutualtls.Variable + "=" + kernel, err
}

// LogLevelVariable is the environment variable with the level of a plugin's log on stderr: trace,
// debug, info, warn, error or off.
const LogLevelVariable = wire.LogLevel

// ReattachVariable is the environment variable that names running plugin processes: the user sets
// it to the line that `agent-plugin-x debug` prints.
const ReattachVariable = wire.Reattach

// PluginSets returns the plugin set of each supported major version of the protocol, for ClientConfig.VersionedPlugins.
func PluginSets() map[int]goplugin.PluginSet {
	return map[int]goplugin.PluginSet{wire.Protocol: {wire.PluginSet: &grpcPlugin{}}}
}

// DialOptions returns the options for ClientConfig.GRPCDialOptions. They set the message limit of
// 64 MiB and windows of 1 MiB, which gRPC otherwise estimates with pings, and send each call's
// traceparent ([sdk.TraceParent]).
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

// grpcPlugin passes the plain connection through go-plugin.
type grpcPlugin struct {
	goplugin.NetRPCUnsupportedPlugin
}

// GRPCServer implements go-plugin's interface; this end has no server.
func (*grpcPlugin) GRPCServer(*goplugin.GRPCBroker, *grpc.Server) error {
	return errors.New("package client serves no plugin; use package serve")
}

// GRPCClient returns the connection for [New].
func (*grpcPlugin) GRPCClient(_ context.Context, _ *goplugin.GRPCBroker, conn *grpc.ClientConn) (any, error) {
	return conn, nil
}

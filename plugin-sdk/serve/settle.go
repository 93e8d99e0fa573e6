package serve

import (
	"context"
	"os"
	"sync"

	"google.golang.org/grpc"

	"github.com/dodo-digital/agent-pipelines/plugin-sdk/internal/wire"
)

// handshakeVariables are what the kernel and go-plugin put into the environment for the handshake
// alone. Children of the plugin must not inherit them: another go-plugin program among them would
// take them for its own.
func handshakeVariables() []string {
	return []string{
		wire.CookieKey,
		"PLUGIN_CLIENT_CERT",
		"PLUGIN_MAX_PORT",
		"PLUGIN_MIN_PORT",
		"PLUGIN_MULTIPLEX_GRPC",
		"PLUGIN_PROTOCOL_VERSIONS",
		"PLUGIN_UNIX_SOCKET_DIR",
		"PLUGIN_UNIX_SOCKET_GROUP",
	}
}

// settleOnce makes the first call of the kernel clean up after the handshake, before any component
// hears of it: go-plugin reads its variables until the handshake line is out, and gives no sign of
// its own when it is done. os.Stderr, which go-plugin replaces, becomes the given file again: what is
// written there reaches the kernel even when the process dies.
func settleOnce(stderr *os.File) []grpc.ServerOption {
	settle := sync.OnceFunc(func() {
		for _, name := range handshakeVariables() {
			_ = os.Unsetenv(name)
		}
		os.Stderr = stderr
	})
	return []grpc.ServerOption{
		grpc.ChainUnaryInterceptor(func(ctx context.Context, req any, _ *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
			settle()
			return next(ctx, req)
		}),
		grpc.ChainStreamInterceptor(func(srv any, stream grpc.ServerStream, _ *grpc.StreamServerInfo, next grpc.StreamHandler) error {
			settle()
			return next(srv, stream)
		}),
	}
}

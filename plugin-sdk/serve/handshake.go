package serve

import (
	"context"
	"os"
	"strings"
	"sync"

	"google.golang.org/grpc"

	"github.com/dodo-digital/agent-pipelines/plugin-sdk/internal/wire"
)

// clearHandshake removes the handshake variables of the kernel and go-plugin from the environment,
// because a go-plugin program among the plugin's children would use them. The kernel passes no
// PLUGIN_ variable of the user, so that all of them are go-plugin's.
func clearHandshake() {
	for _, entry := range os.Environ() {
		name, _, _ := strings.Cut(entry, "=")
		if name == wire.CookieKey || strings.HasPrefix(name, "PLUGIN_") {
			_ = os.Unsetenv(name)
		}
	}
}

// clearHandshakeOnce clears the handshake on the kernel's first call, before any component runs.
// go-plugin reads its variables until it has printed the handshake line, and does not report that
// moment.
//
// It also restores os.Stderr, which go-plugin replaces. Output on os.Stderr then reaches the kernel
// even if the process dies.
func clearHandshakeOnce(stderr *os.File) []grpc.ServerOption {
	settle := sync.OnceFunc(func() {
		clearHandshake()
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

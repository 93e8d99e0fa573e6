package serve

import (
	"context"
	"os"
	"strings"
	"sync"

	"google.golang.org/grpc"

	"github.com/dodo-digital/agent-pipelines/plugin-sdk/internal/wire"
)

// forgetHandshake removes what the kernel and go-plugin put into the environment for the handshake
// alone. Children of the plugin must not inherit it: another go-plugin program among them would take
// it for its own. The kernel passes no PLUGIN_ variable of the user's on, so all of them are go-plugin's.
func forgetHandshake() {
	for _, entry := range os.Environ() {
		name, _, _ := strings.Cut(entry, "=")
		if name == wire.CookieKey || strings.HasPrefix(name, "PLUGIN_") {
			_ = os.Unsetenv(name)
		}
	}
}

// settleOnce makes the first call of the kernel clean up after the handshake, before any component
// hears of it: go-plugin reads its variables until the handshake line is out, and gives no sign of
// its own when it is done. os.Stderr, which go-plugin replaces, becomes the given file again: what is
// written there reaches the kernel even when the process dies.
func settleOnce(stderr *os.File) []grpc.ServerOption {
	settle := sync.OnceFunc(func() {
		forgetHandshake()
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

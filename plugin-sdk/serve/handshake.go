package serve

import (
	"context"
	"crypto/tls"
	"os"
	"strings"
	"sync"

	goplugin "github.com/hashicorp/go-plugin"
	"google.golang.org/grpc"

	"github.com/dodo-digital/agent-pipelines/plugin-sdk/internal/mutualtls"
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

// secure makes config serve over mutual TLS where the kernel sent its certificate, and adds the
// plugin's own to the handshake line. end waits until all output on stdout is copied.
func secure(config *goplugin.ServeConfig) (end func(), err error) {
	kernel := os.Getenv(mutualtls.Variable)
	if kernel == "" {
		return func() {}, nil
	}
	settings, field, err := mutualtls.Plugin(kernel)
	if err != nil {
		return nil, err
	}
	r, w, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	config.TLSProvider = func() (*tls.Config, error) { return settings, nil }
	var copying sync.WaitGroup
	stdout := os.Stdout
	os.Stdout = w // go-plugin prints the line here and then replaces os.Stdout
	copying.Go(func() { _ = mutualtls.CopyHandshake(stdout, r, field) })
	return func() {
		_ = w.Close()
		copying.Wait()
		_ = r.Close()
	}, nil
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

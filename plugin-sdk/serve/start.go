package serve

import (
	"fmt"
	"net"
	"sync"
	"time"

	"google.golang.org/grpc"

	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
)

// Option changes how [Start] serves.
type Option func(*options)

// Heartbeat sets the time between two heartbeats of an attempt. Default 5 s.
func Heartbeat(every time.Duration) Option {
	return func(o *options) { o.heartbeat = every }
}

// Grace sets what components get to end their calls, and then to shut down, when the server is closed.
// Default 2 s each.
func Grace(d time.Duration) Option {
	return func(o *options) { o.grace = d }
}

// Server is a plugin that is served inside the calling process. It is safe for concurrent use.
type Server struct {
	server *server
	grpc   *grpc.Server
	serve  sync.WaitGroup
	close  sync.Once
}

// Start serves p on the listener, without a process and without go-plugin's handshake: the seam for
// tests, which connect package client to the other side. The caller closes the server, which closes
// the listener.
func Start(p sdk.Plugin, l net.Listener, opts ...Option) (*Server, error) {
	o := defaultOptions()
	for _, opt := range opts {
		opt(&o)
	}
	s, err := newServer(p, o)
	if err != nil {
		return nil, fmt.Errorf("serve plugin %s: %w", p.Name, err)
	}
	g := &Server{server: s, grpc: grpc.NewServer(limits()...)}
	s.register(g.grpc)
	g.serve.Go(func() { _ = g.grpc.Serve(l) }) // ends by Close; a broken listener shows at the clients
	return g, nil
}

// Close cancels the calls in flight, shuts the components down, cuts every connection and waits until
// all of it is over. Components that ignore their context are left behind after the grace.
func (s *Server) Close() {
	s.close.Do(func() {
		s.server.shutdownComponents()
		s.grpc.Stop()
		s.serve.Wait()
	})
}

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

// Heartbeat sets the interval between the heartbeats of an attempt. Default: 5 s.
func Heartbeat(every time.Duration) Option {
	return func(o *options) { o.heartbeat = every }
}

// Grace sets the time that Close gives calls to end, and then components to shut down. Default: 2 s
// each.
func Grace(d time.Duration) Option {
	return func(o *options) { o.grace = d }
}

// Server is a plugin served inside the calling process. It is safe for concurrent use.
type Server struct {
	server *server
	grpc   *grpc.Server
	serve  sync.WaitGroup
	close  sync.Once
}

// Start serves p on the listener, without a process and without go-plugin's handshake, for tests
// that connect package client. The caller closes the server, which closes the listener.
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
	g.serve.Go(func() { _ = g.grpc.Serve(l) }) // ends by Close; clients notice a broken listener
	return g, nil
}

// Close cancels the calls in flight, shuts the components down, closes every connection, and waits for
// the end of all of them. After the grace, it abandons components that ignore their context.
func (s *Server) Close() {
	s.close.Do(func() {
		s.server.shutdownComponents()
		s.grpc.Stop()
		s.serve.Wait()
	})
}

package stubmodel

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"regexp"
	"sync"
	"testing"
	"time"
)

// Server is a running stub. All methods may be called concurrently.
type Server struct {
	http     *http.Server
	control  http.Handler
	url      string
	ledger   *ledger
	stopping chan struct{}  // closed by Close: ends every answer that waits
	serving  sync.WaitGroup // the accept loop

	mu       sync.Mutex
	scripts  map[string]*conversation
	closed   bool
	handlers sync.WaitGroup // requests being answered; grows only while not closed
}

// Start runs a server on a free port until the test ends.
func Start(t testing.TB) *Server {
	t.Helper()
	server, err := New("")
	if err != nil {
		t.Fatalf("start stub model server: %v", err)
	}
	t.Cleanup(func() { _ = server.Close() })
	return server
}

// New runs a server on addr, a loopback IP and a port; "" means 127.0.0.1 and a free port. Any
// other interface is refused: the server answers every client. The caller closes it.
func New(addr string) (*Server, error) {
	if addr == "" {
		addr = "127.0.0.1:0"
	}
	if where, err := netip.ParseAddrPort(addr); err != nil || !where.Addr().IsLoopback() {
		return nil, fmt.Errorf("listen on %q: not a loopback address; use 127.0.0.1:<port>", addr)
	}
	listener, err := net.Listen("tcp", addr)
	if err != nil {
		return nil, err
	}
	s := &Server{
		url:      "http://" + listener.Addr().String(),
		ledger:   newLedger(),
		stopping: make(chan struct{}),
		scripts:  map[string]*conversation{},
	}
	s.control = s.controls()
	s.http = &http.Server{Handler: s, ReadHeaderTimeout: 10 * time.Second}
	s.serving.Go(func() { _ = s.http.Serve(listener) }) // always ErrServerClosed
	return s, nil
}

// URL is the server's address, "http://127.0.0.1:<port>", without a slash at the end.
func (s *Server) URL() string { return s.url }

// Base is the base URL under which an agent is answered by the script of that name.
func (s *Server) Base(script string) string { return s.url + scriptPrefix + script }

// SetScript loads a script, in place of an older one of that name, and resets its turns. It fails
// when the script is not valid or the name cannot be part of a path.
func (s *Server) SetScript(name string, script Script) error {
	if !scriptName.MatchString(name) {
		return fmt.Errorf("script name %q: only letters, digits, '.', '_' and '-' are allowed", name)
	}
	p, err := compile(script)
	if err != nil {
		return fmt.Errorf("script %q: %w", name, err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.scripts[name] = &conversation{program: p}
	return nil
}

// script returns the loaded script of that name.
func (s *Server) script(name string) (*conversation, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if found := s.scripts[name]; found != nil {
		return found, nil
	}
	return nil, fmt.Errorf("no script %q is loaded", name)
}

// Close ends every answer, also one that hangs, and returns when nothing of the server runs. A second call does
// nothing.
func (s *Server) Close() error {
	s.refuseMore()
	err := s.http.Close()
	s.handlers.Wait()
	s.serving.Wait()
	if errors.Is(err, net.ErrClosed) {
		return nil
	}
	return err
}

// refuseMore accepts no further request and ends the current ones.
func (s *Server) refuseMore() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.closed {
		s.closed = true
		close(s.stopping)
	}
}

// isClosing reports whether Close was called.
func (s *Server) isClosing() bool {
	select {
	case <-s.stopping:
		return true
	default:
		return false
	}
}

// enter counts a request in, unless the server is being closed.
func (s *Server) enter() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return false
	}
	s.handlers.Add(1)
	return true
}

// visit is one request in the server.
type visit struct {
	server *Server
	entry  *Request
	w      *statusWriter
	r      *http.Request
	body   []byte
	api    dialect // that of the answer
}

const (
	scriptPrefix  = "/s/"
	controlPrefix = "/__stub/"
	defaultScript = "default"
	maxBody       = 64 << 20 // bytes; agents send whole conversations
)

var scriptName = regexp.MustCompile(`^[A-Za-z0-9._-]+$`)

// statusWriter remembers the status of the answer.
type statusWriter struct {
	http.ResponseWriter
	status int
}

// WriteHeader sends the headers.
func (w *statusWriter) WriteHeader(status int) {
	w.status = status
	w.ResponseWriter.WriteHeader(status)
}

// Unwrap lets http.ResponseController reach the connection.
func (w *statusWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

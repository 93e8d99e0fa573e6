package stubmodel

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"regexp"
	"sync"
	"testing"
)

// Server is a running stub. It is safe for concurrent use.
type Server struct {
	http     *httptest.Server
	control  http.Handler
	ledger   ledger
	stopping chan struct{} // closed by Close to end every answer that hangs
	stop     func()        // closes stopping once

	mu      sync.Mutex
	scripts map[string]*conversation
}

// Start runs a server on a free port until the test ends. The test loads a [Script] under a name, directs the agent to
// [Server.Base] of that name and afterwards reads the requests with [Server.Requests]:
//
//	stub := stubmodel.Start(t)
//	err := stub.SetScript("hello", stubmodel.Script{Turns: []stubmodel.Turn{{Text: "Hello."}}})
//	// ANTHROPIC_BASE_URL=stub.Base("hello")
func Start(t testing.TB) *Server {
	t.Helper()
	server := New()
	t.Cleanup(server.Close)
	return server
}

// New runs a server on a free port of the loopback interface. The caller closes it.
func New() *Server {
	s := &Server{scripts: map[string]*conversation{}, stopping: make(chan struct{})}
	s.stop = sync.OnceFunc(func() { close(s.stopping) })
	s.control = s.controls()
	s.http = httptest.NewServer(s)
	return s
}

// URL returns the server's address, "http://127.0.0.1:<port>", without a slash at the end.
func (s *Server) URL() string { return s.http.URL }

// Base returns the base URL of the script of that name, for an agent.
func (s *Server) Base(script string) string { return s.http.URL + scriptPrefix + script }

// SetScript loads a script and replaces an older one of that name. An invalid script, or a name that cannot be part
// of a path, is an error.
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

// Close ends every answer, also one that hangs, and waits for the end of the server. A second call does nothing.
func (s *Server) Close() {
	s.stop()
	s.http.CloseClientConnections()
	s.http.Close()
}

// visit is one request to the server and its answer.
type visit struct {
	server *Server
	entry  *Request
	w      http.ResponseWriter
	r      *http.Request
	body   []byte
	api    api // the API of the answer
}

const (
	scriptPrefix  = "/s/"
	controlPrefix = "/__stub/"
	defaultScript = "default"
	maxBody       = 64 << 20 // bytes; agents send whole conversations
)

var scriptName = regexp.MustCompile(`^[A-Za-z0-9._-]+$`)

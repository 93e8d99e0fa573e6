package stubmodel

import (
	"context"
	"fmt"
	"io"
	"net/http"
)

// controls are the server's own routes, which are not recorded.
func (s *Server) controls() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("PUT "+controlPrefix+"script/{name}", s.putScript)
	mux.HandleFunc("GET "+controlPrefix+"requests", s.getRequests)
	return mux
}

func (s *Server) putScript(w http.ResponseWriter, r *http.Request) {
	text, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	script, err := Parse(text)
	if err == nil {
		err = s.SetScript(r.PathValue("name"), script)
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	w.WriteHeader(http.StatusNoContent)
}

func (s *Server) getRequests(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(mustMarshal(s.Requests(r.URL.Query().Get("script"))))
}

// Requests returns the requests to a script so far, in order; "" means all scripts. The copies are the caller's. Safe
// for concurrent use.
func (s *Server) Requests(script string) []Request {
	found, _ := s.ledger.list(script)
	return found
}

// Faults returns the faults among the requests of a script, each with the request that it is about;
// "" means all scripts. A test that foresaw everything finds none.
func (s *Server) Faults(script string) []string {
	var faults []string
	for _, r := range s.Requests(script) {
		if r.Fault != "" {
			faults = append(faults, fmt.Sprintf("request %d, %s %s: %s", r.N, r.Method, r.Path, r.Fault))
		}
	}
	return faults
}

// Wait returns the requests of a script as soon as there are n, counted when they come and not when
// they are answered. It fails with the cause of ctx.
func (s *Server) Wait(ctx context.Context, script string, n int) ([]Request, error) {
	for {
		found, changed := s.ledger.list(script)
		if len(found) >= n {
			return found, nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return found, fmt.Errorf("wait for %d requests of script %q, got %d: %w", n, script, len(found), context.Cause(ctx))
		}
	}
}

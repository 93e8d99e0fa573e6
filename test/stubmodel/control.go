package stubmodel

import (
	"fmt"
	"io"
	"net/http"
)

// controls returns the handler of the server's control routes, whose requests are not recorded.
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

// Requests returns the requests to a script so far, in order; "" means all scripts. The caller owns the copies. It is
// safe for concurrent use.
func (s *Server) Requests(script string) []Request {
	return s.ledger.list(script)
}

// Faults returns the faults of the requests to a script, each with its request; "" means all scripts. It returns none
// if every request was expected.
func (s *Server) Faults(script string) []string {
	var faults []string
	for _, r := range s.Requests(script) {
		if r.Fault != "" {
			faults = append(faults, fmt.Sprintf("request %d, %s %s: %s", r.N, r.Method, r.Path, r.Fault))
		}
	}
	return faults
}

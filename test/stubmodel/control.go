package stubmodel

import (
	"io"
	"net/http"
)

// controls are the server's own routes, which are not recorded.
func (s *Server) controls() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("PUT "+controlPrefix+"script/{name}", s.putScript)
	mux.HandleFunc("GET "+controlPrefix+"requests", s.getRequests)
	mux.HandleFunc("POST "+controlPrefix+"reset", func(w http.ResponseWriter, _ *http.Request) {
		s.Reset()
		w.WriteHeader(http.StatusNoContent)
	})
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

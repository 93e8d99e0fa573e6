package main

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"sync"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

// webhook is "webhook <file>": it serves on 127.0.0.1 until the script ends and appends the requests to the file. WEBHOOK is
// the server's address, REFUSED an address without a listener. The path of a request selects the response: /json, /raw,
// /500, or /hang, which exceeds every time limit.
func webhook(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: webhook <file>")
	}
	var mu sync.Mutex
	over := make(chan struct{})
	log := ts.MkAbs(args[0])
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		mu.Lock()
		defer mu.Unlock()
		f, err := os.OpenFile(log, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
		if err == nil {
			_, err = f.WriteString(r.URL.Path + " " + r.Header.Get("Idempotency-Key") + " " + string(body) + "\n")
			err = errors.Join(err, f.Close())
		}
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		answer(w, r, over)
	}))
	ts.Defer(func() { close(over); server.Close() })
	refused := httptest.NewServer(http.NotFoundHandler())
	refused.Close()
	ts.Setenv("WEBHOOK", server.URL)
	ts.Setenv("REFUSED", refused.URL)
}

func answer(w http.ResponseWriter, r *http.Request, over <-chan struct{}) {
	switch r.URL.Path {
	case "/json":
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"context": "said as JSON"}`) // a client that is gone wants no answer
	case "/raw":
		_, _ = io.WriteString(w, "said as it is\n")
	case "/hang":
		select {
		case <-r.Context().Done():
		case <-over:
		case <-time.After(time.Minute):
		}
	default:
		http.Error(w, "no", http.StatusInternalServerError)
	}
}

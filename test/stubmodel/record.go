package stubmodel

import (
	"bytes"
	"encoding/json"
	"net/http"
	"sync"
)

// Request is one recorded request, with the server's reaction.
type Request struct {
	// N counts from 1 over the life of the server.
	N int `json:"n"`
	// Script is the script's name in the path, "default" if the path has none.
	Script string `json:"script"`
	Method string `json:"method"`
	// Path includes the query and the prefix that chose the script.
	Path string `json:"path"`
	// Model is the requested model.
	Model string `json:"model,omitempty"`
	// Prompt is the user's text in the request, without tool results.
	Prompt string `json:"prompt,omitempty"`
	// Side is true for a side request. Turn is the number of the turn for the request, from 1; 0 if there is none.
	Side bool `json:"side"`
	Turn int  `json:"turn,omitempty"`
	// Fault is the reason why the request was unexpected: an unknown path or script, an expectation not met, no turn
	// left. It is "" if there is no fault.
	Fault string `json:"fault,omitempty"`
	// Headers are the received headers. They include keys, so use this server only with made-up keys.
	Headers http.Header `json:"headers"`
	// Body is the received body if it is JSON, else a JSON string with the body; nil if the body was empty.
	Body json.RawMessage `json:"body,omitempty"`
}

// ledger holds the recorded requests. It is safe for concurrent use.
type ledger struct {
	mu      sync.Mutex
	entries []*Request
}

// add records a received request and sets its number.
func (l *ledger) add(request Request) *Request {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.entries = append(l.entries, &request)
	request.N = len(l.entries)
	return &request
}

// update changes an entry.
func (l *ledger) update(entry *Request, change func(*Request)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	change(entry)
}

// list returns copies of the entries of a script, or of all scripts for "".
func (l *ledger) list(script string) []Request {
	l.mu.Lock()
	defer l.mu.Unlock()
	found := []Request{}
	for _, entry := range l.entries {
		if script == "" || entry.Script == script {
			copied := *entry
			copied.Headers, copied.Body = entry.Headers.Clone(), bytes.Clone(entry.Body)
			found = append(found, copied)
		}
	}
	return found
}

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
	// Script is the name chosen by the path, "default" without one.
	Script string `json:"script"`
	Method string `json:"method"`
	// Path has the query, and the prefix that chose the script.
	Path string `json:"path"`
	// Model is the model that was asked for.
	Model string `json:"model,omitempty"`
	// Prompt is the user's text in the request, tool results left out.
	Prompt string `json:"prompt,omitempty"`
	// Side is true for a side request; Turn is the number of the turn that answered, from 1.
	Side bool `json:"side"`
	Turn int  `json:"turn,omitempty"`
	// Fault says why the request was unexpected: an unknown path or script, an expectation not met,
	// no turn left. Empty if there is no fault.
	Fault string `json:"fault,omitempty"`
	// Headers are as they came, keys included: use this server with made-up keys only.
	Headers http.Header `json:"headers"`
	// Body is as it came when that was JSON, else as a JSON string; nil when it was empty.
	Body json.RawMessage `json:"body,omitempty"`
}

// ledger holds the recorded requests. Safe for concurrent use.
type ledger struct {
	mu      sync.Mutex
	entries []*Request
}

// add records a request that has just come.
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

// list copies the entries of a script, or of all for "".
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

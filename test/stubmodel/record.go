package stubmodel

import (
	"bytes"
	"encoding/json"
	"net/http"
	"sync"
	"time"
)

// Request is one recorded request, with the server's reaction.
type Request struct {
	// N counts from 1 over the life of the server.
	N int `json:"n"`
	// At is when it came, MS how many milliseconds it took; -1 while it is being answered.
	At time.Time `json:"at"`
	MS int64     `json:"ms"`
	// Script is the name chosen by the path, "default" without one.
	Script string `json:"script"`
	Method string `json:"method"`
	// Path has the query, and the prefix that chose the script.
	Path string `json:"path"`
	// API is "anthropic", "responses" or "chat" for a request that a turn answers, else empty, as are
	// the next three.
	API string `json:"api,omitempty"`
	// Model is the model that was asked for.
	Model string `json:"model,omitempty"`
	// Prompt is the user's text in the request, tool results left out.
	Prompt string `json:"prompt,omitempty"`
	// Side is true for a side request; Turn is the number of the turn that answered, from 1.
	Side bool `json:"side"`
	Turn int  `json:"turn,omitempty"`
	// Status is the answer's, 0 before there is one.
	Status int `json:"status"`
	// ClientGone is true when the client left before the answer was complete.
	ClientGone bool `json:"client_gone"`
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
	count   int
	entries []*Request
	changed chan struct{} // closed and renewed at each new entry
}

func newLedger() *ledger {
	return &ledger{changed: make(chan struct{})}
}

// add records a request that has just come.
func (l *ledger) add(request Request) *Request {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.count++
	request.N = l.count
	l.entries = append(l.entries, &request)
	close(l.changed)
	l.changed = make(chan struct{})
	return &request
}

// update changes an entry.
func (l *ledger) update(entry *Request, change func(*Request)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	change(entry)
}

// list copies the entries of a script, or of all for "", and says when to look again.
func (l *ledger) list(script string) ([]Request, <-chan struct{}) {
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
	return found, l.changed
}

package stubmodel

import "net/http"

// api is one model API. An implementation has no state.
type api interface {
	// read takes from a request what scripts and expectations speak about.
	read(header http.Header, body []byte) (inbound, error)
	// stream is the answer as the events of a stream.
	stream(a answer) []frame
	// whole is the answer as one JSON value.
	whole(a answer) any
	// fault is an error, as the event of a stream; its data is also the body of an error answer.
	fault(f fault) frame
}

// inbound is a request, whatever its API.
type inbound struct {
	body         []byte
	conversation string // the agent's id of it, may be empty
	model        string
	system       string
	prompt       string // the user's text blocks, joined by newlines
	toolResult   string // those of the newest message, joined by newlines
	toolError    bool   // one of them failed
	offersTools  bool
	stream       bool
}

// answer is a complete message to be put into an API's words.
type answer struct {
	number int // the request's, from which ids are made
	model  string
	turn   Turn
}

// fault is an error of the service. An empty kind means the one that belongs to the status.
type fault struct {
	status  int
	kind    string
	message string
	id      string // the request's
}

// frame is one event of a stream: its name, and what becomes its data as JSON.
type frame struct {
	event string
	data  any
}

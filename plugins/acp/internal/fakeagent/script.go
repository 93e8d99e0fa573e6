package fakeagent

import (
	"encoding/json"
	"fmt"
	"os"
)

// Script is what the agent does. It is read from a JSON file.
type Script struct {
	// Initialize is the result of initialize. Default: version 1 of the protocol, and that sessions can be
	// loaded.
	Initialize json.RawMessage `json:"initialize"`
	// Session is the result of session/new, without the id, and of the others that open a session.
	Session map[string]any `json:"session"`
	// Errors are what methods are answered with instead, by name.
	Errors map[string]json.RawMessage `json:"errors"`
	// Start is done before anything is read.
	Start []Step `json:"start"`
	// Replay are updates sent before a loaded session is confirmed.
	Replay []json.RawMessage `json:"replay"`
	// Turns answer the prompts, one each; the last is repeated. Resumed does so in a session that was taken up;
	// default Turns.
	Turns   []Turn `json:"turns"`
	Resumed []Turn `json:"resumed"`
	// Stay keeps the agent running when its stdin ends.
	Stay bool `json:"stay"`
}

// Turn is the answer to a prompt.
type Turn struct {
	Steps []Step `json:"steps"`
	// Result answers the prompt; Error does so instead. Default: stopReason end_turn, or cancelled after
	// session/cancel.
	Result json.RawMessage `json:"result"`
	Error  json.RawMessage `json:"error"`
	// After is done when the prompt has been answered.
	After []Step `json:"after"`
}

// Step is one thing to do; the first field that is set counts.
type Step struct {
	// Say and Think send a piece of a message or a thought.
	Say   string `json:"say"`
	Think string `json:"think"`
	// Update sends a session/update.
	Update json.RawMessage `json:"update"`
	// Ask sends a request for permission about this tool call and waits; then Allowed or Refused are done.
	Ask     json.RawMessage `json:"ask"`
	Options json.RawMessage `json:"options"` // default: allow and reject, once and always
	Allowed []Step          `json:"allowed"`
	Refused []Step          `json:"refused"`
	// Echo says the prompt.
	Echo bool `json:"echo"`
	// Call sends a request with this method and without waiting for its answer.
	Call string `json:"call"`
	// Write puts Text into a file of the working directory.
	Write string `json:"write"`
	Text  string `json:"text"`
	// Result is written to the path that a prompt named on a line "result: ".
	Result string `json:"result"`
	// Line is written to stdout as it is, Stderr to stderr.
	Line   string `json:"line"`
	Stderr string `json:"stderr"`
	// Spawn starts a child in a session of its own, which keeps stdout open, and writes its id into this file.
	Spawn string `json:"spawn"`
	// Await waits until session/cancel, Hang for good. IgnoreTerm does not end by SIGTERM from here on.
	Await      bool `json:"await"`
	Hang       bool `json:"hang"`
	IgnoreTerm bool `json:"ignore_term"`
	// Exit ends the agent with this code at once.
	Exit *int `json:"exit"`
}

func readScript(path string) (Script, error) {
	var s Script
	raw, err := os.ReadFile(path)
	if err != nil {
		return s, err
	}
	if err := json.Unmarshal(raw, &s); err != nil {
		return s, fmt.Errorf("%s: %w", path, err)
	}
	return s, nil
}

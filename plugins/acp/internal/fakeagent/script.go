package fakeagent

import (
	"encoding/json"
	"fmt"
	"os"
)

// Script describes the behaviour of the agent. It is read from a JSON file.
type Script struct {
	// Initialize is the result of initialize. Default: version 1 of the protocol and loadable sessions.
	Initialize json.RawMessage `json:"initialize"`
	// Session is the result of the methods that open a session, without the id.
	Session map[string]any `json:"session"`
	// Errors are the errors that answer failing methods, by the method's name.
	Errors map[string]json.RawMessage `json:"errors"`
	// Start holds the steps before the first message is read.
	Start []Step `json:"start"`
	// Replay are updates sent before a loaded session is confirmed.
	Replay []json.RawMessage `json:"replay"`
	// Each turn answers one prompt; the last turn repeats. Resumed is for a resumed session, default Turns.
	Turns   []Turn `json:"turns"`
	Resumed []Turn `json:"resumed"`
	// Stay keeps the agent running for an hour after its stdin ends.
	Stay bool `json:"stay"`
}

// Turn is the answer to a prompt.
type Turn struct {
	Steps []Step `json:"steps"`
	// Error answers the prompt, or else Result. Default of Result: stopReason end_turn, or cancelled after session/cancel.
	Result json.RawMessage `json:"result"`
	Error  json.RawMessage `json:"error"`
	// After holds the steps after the answer.
	After []Step `json:"after"`
}

// Step is one action; a script sets the fields of one action only.
type Step struct {
	// Message and Think send a piece of a message or a thought.
	Message string `json:"say"`
	Think   string `json:"think"`
	// Update sends a session/update.
	Update json.RawMessage `json:"update"`
	// Ask requests permission for this tool call and waits; then the steps in Allowed or Refused follow.
	Ask     json.RawMessage `json:"ask"`
	Options json.RawMessage `json:"options"` // default: allow and reject, once and always
	Allowed []Step          `json:"allowed"`
	Refused []Step          `json:"refused"`
	// Echo sends the prompt as a message.
	Echo bool `json:"echo"`
	// Call sends a request with this method and does not wait for the answer.
	Call string `json:"call"`
	// Write writes Text to a file in the working directory.
	Write string `json:"write"`
	Text  string `json:"text"`
	// Result is written to the path after "result: " in a prompt.
	Result string `json:"result"`
	// Line is written to stdout unchanged, Stderr to stderr.
	Line   string `json:"line"`
	Stderr string `json:"stderr"`
	// Spawn starts a child in its own process session, which keeps stdout open, and writes the process id to this file.
	Spawn string `json:"spawn"`
	// Await waits until session/cancel, Hang for an hour. IgnoreTerm ignores SIGTERM from here on.
	Await      bool `json:"await"`
	Hang       bool `json:"hang"`
	IgnoreTerm bool `json:"ignore_term"`
	// Exit ends the agent with this code.
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

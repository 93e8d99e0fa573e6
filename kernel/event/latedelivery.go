package event

import "encoding/json"

// The kinds of late deliveries.
const (
	LateEnd      = "end"       // the end of an effect that the state no longer waited for
	LateResult   = "result"    // a success reported by a provider
	LateOutput   = "output"    // output of the agent
	LateToolCall = "tool_call" // a tool call, requested or made
	LateFile     = "file"      // a file at a path of an attempt
)

// LateDeliveryData is a delivery for an attempt that was already abandoned, and so does not count. It only informs.
type LateDeliveryData struct {
	Kind string `json:"what"` // one of the Late… constants
	// Attempt is the number of the attempt, if known, and AbandonReason the kind of the failure that ended it, ""
	// if a crash did.
	Attempt       int    `json:"of,omitempty"`
	AbandonReason string `json:"given_up,omitempty"`
	// Count and Bytes are the number and size of outputs and tool calls; Tools are the names of the first tools.
	Count int      `json:"count,omitempty"`
	Bytes int64    `json:"bytes,omitempty"`
	Tools []string `json:"tools,omitempty"`
	// Path is the path of a file relative to the session. KeptFile is the file with the late content. Its path differs
	// from Path if a later attempt or a reader could mistake the file for current content.
	Path     string `json:"path,omitempty"`
	KeptFile *Ref   `json:"kept,omitempty"`
	// Type and Data are the event that ended the effect.
	Type Type            `json:"type,omitempty"`
	Data json.RawMessage `json:"data,omitempty"`
}
